import { expect, test } from 'vitest'
import { readUsers } from './import'

const hashOf = (version: string, cost: string) => `$${version}$${cost}$${'x'.repeat(53)}`
const hash = hashOf('2b', '10')
const read = (text: string) => readUsers(Buffer.from(text))
const ada = { email: 'ada@example.com', emailDomain: 'example.com', passwordHash: hash }

test('accepts a header, a byte-order mark, empty lines, and lines with or without a hash or quotes', () => {
  const csv = `\uFEFF"Email","password_hash"\r\nAda@Example.com,${hash}\r\n"bob@bücher.example", \n\n eve@example.com , "${hash}"\n`
  expect(read(csv).users).toEqual([
    ada,
    {
      email: 'bob@xn--bcher-kva.example',
      emailDomain: 'xn--bcher-kva.example',
      passwordHash: null,
    },
    { email: 'eve@example.com', emailDomain: 'example.com', passwordHash: hash },
  ])
})

const lists: Record<string, string> = {
  'semicolons, of Excel in Europe': `email;password_hash\r\nada@example.com;${hash}\r\n`,
  'semicolons, without a header': `ada@example.com;${hash}`,
  'tabs, of a clipboard': `Email\tPassword\nada@example.com\t${hash}`,
  'vertical bars': `email|hash\nada@example.com|${hash}`,
  'colons, of htpasswd': `ada@example.com:${hash}\n`,
  'quotes around every field': `"email";"password_hash"\n"ada@example.com";"${hash}"`,
  'a space after the separator': `"email", "hash"\nada@example.com, "${hash}"`,
  'the first line of Excel': `sep=;\r\nemail;password_hash\r\nada@example.com;${hash}`,
  'the first line of Excel, for another separator': `sep=^\nemail^hash\nada@example.com^${hash}`,
  'lines that end in CR, of Excel for Mac': `email,hash\rada@example.com,${hash}\r`,
  'a trailing separator': `email;password_hash;\nada@example.com;${hash};\n;;\n`,
  'trailing separators, without a header': `ada@example.com,${hash},,\n,,,\n`,
  'blank lines before the header': `\n;;\nemail;hash\nada@example.com;${hash}`,
  'the header email alone': `email\nada@example.com,${hash}`,
  'an invisible character': `email,hash\n\u200Bada@example.com\u00A0,${hash}\u200B`,
  'a link': `email,hash\nmailto:ada@example.com,${hash}`,
  'a display name': `email,hash\n"Lovelace, Ada <ada@example.com>",${hash}`,
}
test.each(Object.entries(lists))('accepts %s', (_, text) => {
  expect(read(text)).toEqual({ users: [ada], ignoredColumns: [] })
})

const headers: [header: string, ignored: string[]][] = [
  ['E-Mail,Passwort', []],
  ['E-Mail-Adresse,Kennwort', []],
  ['Adresse e-mail,Mot de passe', []],
  ['Courriel,Mot de passe', []],
  ['Correo electrónico,Contraseña', []],
  ['CORREO ELECTRO\u0301NICO,Contrasen\u0303a', []], // decomposed, of macOS
  ['البريد الإلكتروني,كلمة المرور', []],
  ['メールアドレス,パスワード', []],
  ['Email Address [Required],Password Hash', []], // Google Workspace
  ['EMAIL_ADDRESS,ENCRYPTED_PASSWORD', []], // Rails
  ['user_email,user_pass', []], // WordPress
  ['users.email,users.password', []],
  [' e-mail , password hash ', []],
  ['userPrincipalName,passwordHash', []],
]
test.each(headers)('accepts the header %s', (header) => {
  expect(read(`${header}\nada@example.com,${hash}`).users).toEqual([ada])
})

test('finds the columns by their names, and reports the others', () => {
  const text = `id;displayName;userPrincipalName;Password Hash;mail;\r\n1;"Lovelace; Ada";x_y#EXT#@a.example;${hash};ada@example.com;\r\n`
  expect(read(text)).toEqual({
    users: [ada],
    ignoredColumns: ['id', 'displayName', 'userPrincipalName'],
  })
  const withLineBreak = `email,address,hash\nada@example.com,"12 St ""James""\nLondon",${hash}`
  expect(read(withLineBreak)).toEqual({ users: [ada], ignoredColumns: ['address'] })
})

const wrongHeaders: Record<string, string> = {
  'Person;secret\nada@example.com;x':
    'Line 1: no column is named email. The line begins with “Person”.',
  'name:secret\nada:x': 'Line 1: no column is named email. The line begins with “name”.',
  '\n\nname,secret\nada,x': 'Line 3: no column is named email. The line begins with',
  [`${hash},ada\n`]: 'Line 1: no column is named email. The line begins with a hash.',
  'email,mail,hash\na@x.example,,': 'Line 1: “email” and “mail” have the same meaning.',
  'E-Mail,Kennwort,Passwort\na@x.example,,': 'Line 1: “Kennwort” and “Passwort” have the',
}
test.each(Object.entries(wrongHeaders))('explains a header: %j', (text, problem) => {
  expect(() => read(text)).toThrow(`Nothing was imported.\n${problem}`)
  expect(() => read(text)).toThrow('Name one column email, and one password_hash.')
  expect(() => read(text)).not.toThrow(/secret|xxxx/)
})

test('a trailing separator of the header is no column', () => {
  expect(read(`email,\nada@example.com,${hash}`).users).toEqual([ada])
  const unnamed = `email,hash,\nada@example.com,${hash},disabled`
  expect(() => read(unnamed)).toThrow('Line 2: not of the form email,hash.')
})

test('hashes in a column with another name are not ignored', () => {
  for (const secret of [hash, `{bcrypt}${hash}`, `bcrypt$${hash}`, '{SSHA}xxxx'])
    expect(() => read(`email,geheim\nada@example.com,${secret}`)).toThrow(
      /Line 2: the column “geheim” has hashes: name it password_hash in the header$/,
    )
})

const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')
const latin1 = (text: string) => Buffer.from(text, 'latin1')

test('reads UTF-16 with a byte-order mark, of “Unicode Text” in Excel', () => {
  const text = `email\tpassword_hash\r\nada@example.com\t${hash}\r\n`
  for (const bytes of [utf16(text), utf16(text).swap16()])
    expect(readUsers(bytes).users).toEqual([ada])
})

const otherEncodings: [what: string, bytes: Buffer, problem: RegExp][] = [
  ['Windows-1252', latin1(`email\r\nren\xe9e@example.com`), /not in UTF-8: see line 2\./],
  ['Mac Roman', latin1('email\rada@example.com\rren\x8ee@x.example'), /see line 3\./],
  ['Windows-1251', latin1('\xef\xee\xf7\xf2\xe0;hash\nada@example.com;'), /see line 1\./],
  ['Shift JIS', latin1('email,name\nada@example.com,\x93\xfa\x96{'), /see line 2\./],
  ['a cut character', latin1('email\nada@example.com\n\xc3'), /see line 3\./],
  [
    'UTF-16 without a mark',
    utf16('ada@example.com').subarray(2),
    /zero bytes, as UTF-16/,
  ],
  ['an odd number of bytes', utf16('ada@example.com').subarray(0, -1), /not in UTF-16\./],
]
test.each(otherEncodings)('rejects another encoding: %s', (_, bytes, problem) => {
  expect(() => readUsers(bytes)).toThrow(problem)
  expect(() => readUsers(bytes)).toThrow(/^Nothing was imported.*“CSV UTF-8”/)
})

test.each(['2a', '2b', '2y'])('a $%s$ hash of cost 4 to 14 is imported', (version) => {
  for (const cost of ['04', '14'])
    for (const prefix of ['', '{bcrypt}', 'bcrypt$']) {
      const passwordHash = hashOf(version, cost)
      const { users } = read(`ada@example.com,${prefix}${passwordHash}`)
      expect(users).toMatchObject([{ passwordHash }])
    }
})

test('a hash that a database exports as missing is no hash', () => {
  for (const missing of ['', 'NULL', 'null', '\\N'])
    expect(read(`ada@example.com,${missing}`).users[0]!.passwordHash).toBeNull()
})

const otherHashes: Record<string, string> = {
  // Spring
  '{noop}secret': '{noop}',
  '{pbkdf2}secret': '{pbkdf2}',
  '{argon2@SpringSecurity_v5_8}$argon2id$v=19$secret': '{argon2@SpringSecurity_v5_8}',
  '{sha256}secret': '{sha256}',
  '{SHA-1}secret': '{SHA-1}',
  // LDAP and Dovecot
  '{SSHA}secret': '{SSHA}',
  '{SMD5}secret': '{SMD5}',
  [`{CRYPT}${hash}`]: '{CRYPT}',
  [`{BLF-CRYPT}${hash}`]: '{BLF-CRYPT}',
  '{CLEARTEXT}secret': '{CLEARTEXT}',
  // Django and Werkzeug
  [`bcrypt_sha256$${hash}`]: 'bcrypt_sha256$',
  pbkdf2_sha256$870000$secret: 'pbkdf2_sha256$',
  'argon2$argon2id$v=19$secret': 'argon2$',
  unsalted_md5$$secret: 'unsalted_md5$',
  'scrypt:32768:8:1$secret': 'scrypt:',
  'pbkdf2:sha256:600000$secret': 'pbkdf2:',
  // crypt(3), passlib, PHP
  $6$secret: '$6$',
  $y$j9T$secret: '$y$',
  $P$Bsecret: '$P$',
  $H$9secret: '$H$',
  $apr1$secret: '$apr1$',
  '$argon2id$v=19$m=65536$secret': '$argon2id$',
  '$pbkdf2-sha256$29000$secret': '$pbkdf2-sha256$',
  '$bcrypt-sha256$v=2,t=2b,r=12$secret': '$bcrypt-sha256$',
  [`$wp${hash}`]: '$wp$',
  [hashOf('2x', '10')]: '$2x$',
  'SCRAM-SHA-256$4096:secret': 'SCRAM-SHA-256$',
}
test.each(Object.entries(otherHashes))(
  'an error names the kind of another hash: %s',
  (given, name) => {
    const text = `email;hash\nada@example.com;"${given}"`
    expect(() => read(text)).toThrow(`Line 2: the hash begins with ${name}, so it is not`)
    expect(() => read(text)).not.toThrow(/secret|xxxx/)
  },
)

test('an error quotes no part of a password', () => {
  const passwords = ['shadow$ecret', 'wp-ecret$1', 'clear:ecret', 'my$ecret', '{ecret}x']
  for (const password of passwords) {
    const text = `email;password\nada@example.com;${password}`
    expect(() => read(text)).toThrow('Line 2: the hash is not a bcrypt hash with')
    expect(() => read(text)).not.toThrow(/ecret|shadow|clear|my/)
  }
})

const wrong: Record<string, string> = {
  [`ada@example.com,${hashOf('2b', '03')}`]: 'the hash has the cost 03',
  [`ada@example.com,${hashOf('2b', '15')}`]: 'the hash has the cost 15',
  [`ada@example.com,${hashOf('2x', '10')}`]: 'the hash',
  [`ada@example.com,${hash}x`]: 'the hash is not a bcrypt hash',
  [`ada@example.com,${hash.slice(0, -1)}`]: 'the hash is not a bcrypt hash',
  [`ada@example.com,{bcrypt}${hash}x`]: 'the hash is not a bcrypt hash',
  'ada@example.com,secret': 'the hash',
  'ada@example.com,,admin': 'not of the form email,password_hash',
  '"ada@example.com': 'not of the form email,password_hash',
  ada: 'not an email address',
  'ada@example.com;x':
    'not an email address. It contains a semicolon, but the separator of the list is a comma',
  'ada@example.com\tx': 'not an email address. It contains a tab',
  'ren\uFFFDe@example.com': 'the address has lost a letter',
  'ada_x.example#EXT#@y.example': 'the user principal name of a guest',
  'ADA@bücher.example': 'ada@xn--bcher-kva.example appears twice',
}
test.each(Object.entries(wrong))(
  'an error reports %s with the line number and without the hash',
  (line, problem) => {
    const csv = `email\nada@bücher.example,\n${line}`
    expect(() => read(csv)).toThrow(`Nothing was imported.\nLine 3: ${problem}`)
    expect(() => read(csv)).not.toThrow(/secret|xxxx/)
  },
)

test('a quote in the wrong place or a line break in a field hides no later line', () => {
  const csv = '"ada@example.com"x\nb"ob@example.com\n"eve\n@example.com"\ncarol\n"dan\n'
  expect(() => read(csv)).toThrow(
    /Line 1: not of .*\nLine 2: not of .*\nLine 3: not an email .*\nLine 5: not an email .*\nLine 6: not of .*$/,
  )
  const form = /Line 2: not of the form email,name,hash\. Put a field that .* a comma/
  for (const name of ['"Ada,', '"Ada"x', 'Ada, Countess'])
    expect(() =>
      read(`email,name,hash\nada@example.com,${name},x\nbob@example.com,"Bob",`),
    ).toThrow(form)
  const hidden = 'email,name,hash\nada@example.com,"Ada,\nbob@example.com,Bob",x'
  expect(() => read(hidden)).toThrow(form)
})

test('without a header, an error says how to name other columns', () => {
  expect(() => read('1,ada@example.com')).toThrow(
    'Line 1: not an email address. Name the',
  )
  expect(() => read('ada@example.com,,admin')).toThrow('Name other columns in the first')
})

test('at most 20 problems are listed', () => {
  const lines = 'x\n'.repeat(30)
  expect(() => read(`email\n${lines}`)).toThrow(/Line 21: .*\n… and 10 more\.$/)
})

test('rejects a list of more than 50,000 users', () => {
  const list = `email\n${'x\n'.repeat(50_001)}`
  expect(() => read(list)).toThrow('more than 50000 users: split it.')
})
