import pg from 'pg'
import { expect, test, vi } from 'vitest'
import {
  emptySettings,
  env,
  envFileWarnings,
  ignoredParameters,
  parseEnv,
  parseMigrationUrl,
  renamedSetting,
  unencryptedUrls,
} from './env'
import { newSigningKeys } from './signing-keys'

const good = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgresql://user:secret@db.example.com/app',
  PUBLIC_URL: 'https://login.example.com',
  TRUSTED_PROXIES: '1',
  SESSION_SIGNING_KEYS: newSigningKeys(),
  UPSTASH_REDIS_REST_URL: 'https://x.upstash.io',
  UPSTASH_REDIS_REST_TOKEN: 'secret',
}

/** Returns the problems that parseEnv reports. */
function problems(settings: Record<string, string | undefined>): string[] {
  try {
    parseEnv(settings)
  } catch (error) {
    const [, ...lines] = (error as Error).message.split('\n')
    return lines.map((line) => line.trim())
  }
  return []
}

test('the copies of this file that Next.js loads validate the settings once', async () => {
  const settings = env()
  vi.resetModules()
  const copy = await import('./env')
  expect(copy.env).not.toBe(env)
  expect(copy.env()).toBe(settings)
})

test('the required settings are sufficient', () => {
  expect(problems(good)).toEqual([])
  expect(parseEnv(good).PUBLIC_URL).toBe('https://login.example.com')
})

test('ID_TOKEN_SIGNING_KEYS has RSA keys, and an EC key is rejected with the command that prints a set', () => {
  const given = { ...good, ID_TOKEN_SIGNING_KEYS: newSigningKeys('RS256') }
  expect(parseEnv(given).ID_TOKEN_SIGNING_KEYS!.algorithm).toBe('RS256')
  expect(parseEnv(good).ID_TOKEN_SIGNING_KEYS).toBeUndefined()
  expect(problems({ ...good, ID_TOKEN_SIGNING_KEYS: newSigningKeys() })).toEqual([
    expect.stringMatching(
      /^ID_TOKEN_SIGNING_KEYS is not a JWK Set of RSA keys.*`npm run keys -- new --id-token`/,
    ),
  ])
})

test('PUBLIC_URL is normalized to an origin in lower case without a slash', () => {
  for (const PUBLIC_URL of [
    'https://login.example.com/',
    'HTTPS://Login.Example.com',
    'https://login.example.com:443',
  ])
    expect(parseEnv({ ...good, PUBLIC_URL }).PUBLIC_URL).toBe('https://login.example.com')
})

test('a color may be given without #, because # begins a comment in an env file', () => {
  const colors = { ACCENT_COLOR: '635BFF', ACCENT_COLOR_DARK: '#6fd3a0' }
  expect(parseEnv({ ...good, ...colors })).toMatchObject({
    ACCENT_COLOR: '#635BFF',
    ACCENT_COLOR_DARK: '#6fd3a0',
  })
  expect(parseEnv({ ...good, ACCENT_COLOR_DARK: '6fd3a0' }).ACCENT_COLOR_DARK).toBe(
    '#6fd3a0',
  )
  for (const wrong of ['##635bff', '635bf', 'purple'])
    for (const name of ['ACCENT_COLOR', 'ACCENT_COLOR_DARK'])
      expect(problems({ ...good, [name]: wrong })).toEqual([
        expect.stringMatching(`^${name} must be a color`),
      ])
})

test('EVENTS_DAYS is 0 or at least 30, and 180 by default', () => {
  expect(parseEnv(good).EVENTS_DAYS).toBe(180)
  for (const days of [0, 30, 3_650])
    expect(parseEnv({ ...good, EVENTS_DAYS: String(days) }).EVENTS_DAYS).toBe(days)
  for (const days of ['1', '29', '-30', '30.5', '3651', 'x'])
    expect(problems({ ...good, EVENTS_DAYS: days })).toEqual([
      'EVENTS_DAYS must be 0, or a whole number from 30 to 3650',
    ])
})

test('names the settings that are present but empty', () => {
  expect(emptySettings(good)).toEqual([])
  // bin/server.ts empties VERCEL, and EDITOR is not one of our settings
  const empty = {
    DIRECT_DATABASE_URL: '',
    ACCENT_COLOR: ' ',
    APP_NAME: undefined,
    VERCEL: '',
    EDITOR: '',
  }
  expect(emptySettings({ ...good, ...empty })).toEqual([
    'DIRECT_DATABASE_URL',
    'ACCENT_COLOR',
  ])
})

test('CRON_SECRET must have at least 16 characters', () => {
  expect(parseEnv({ ...good, CRON_SECRET: 'x'.repeat(16) }).CRON_SECRET).toBe(
    'x'.repeat(16),
  )
  expect(problems({ ...good, CRON_SECRET: 'x'.repeat(15) })).toEqual([
    'CRON_SECRET must have at least 16 characters',
  ])
})

test('links must be http or https URLs or paths of this site', () => {
  for (const name of ['DASHBOARD_URL', 'SIGN_IN_URL', 'FORGOT_PASSWORD_URL']) {
    for (const target of [
      '/',
      '/reports?year=2026#top',
      'https://www.example.com/x',
      'http://localhost:3000/',
    ])
      expect(problems({ ...good, [name]: target }), target).toEqual([])
    const scripts = [
      'javascript:alert(1)',
      'JavaScript://www.example.com/%0aalert(1)',
      'data:text/html,x',
    ]
    for (const target of [
      ...scripts,
      '//evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      'www.example.com',
    ])
      expect(problems({ ...good, [name]: target }), target).toEqual([
        expect.stringMatching(`^${name} must be a URL`),
      ])
  }
})

test('the removed DASHBOARD_CALLBACK_URLS is refused, with the command that replaces it', () => {
  const list = { ...good, DASHBOARD_CALLBACK_URLS: 'https://app.example.com/callback' }
  expect(problems(list)).toEqual([
    expect.stringMatching(
      /^DASHBOARD_CALLBACK_URLS was removed: .*npm run clients -- add/,
    ),
  ])
  expect(problems({ ...good, DASHBOARD_CALLBACK_URLS: '' })).toEqual([])
})

test('PASSWORD_SIGN_IN and DATABASE_POOLED are off by default', () => {
  const direct = {
    ...good,
    DIRECT_DATABASE_URL: 'postgresql://owner:secret@db.example.com/app',
  }
  for (const name of ['PASSWORD_SIGN_IN', 'DATABASE_POOLED'] as const) {
    expect(parseEnv(direct)[name]).toBe(false)
    expect(parseEnv({ ...good, [name]: 'false' })[name]).toBe(false)
    expect(parseEnv({ ...good, [name]: 'true' })[name]).toBe(true)
    expect(problems({ ...good, [name]: 'yes' })).toEqual([
      expect.stringMatching(`^${name} `),
    ])
  }
})

test('statements are prepared unless a setting or the URL names a pooler', () => {
  const pooler = { ...good, DATABASE_URL: `${good.DATABASE_URL}?pgbouncer=true` }
  expect(parseEnv(good)).toMatchObject({
    DATABASE_POOLED: false,
    DATABASE_PREPARED_STATEMENTS: true,
  })
  expect(parseEnv(pooler)).toMatchObject({
    DATABASE_POOLED: true,
    DATABASE_PREPARED_STATEMENTS: false,
  })
  expect(
    parseEnv({ ...pooler, DATABASE_PREPARED_STATEMENTS: 'true' })
      .DATABASE_PREPARED_STATEMENTS,
  ).toBe(true)
})

test('DATABASE_URL must not contain schema or options, and other parameters without effect are listed', () => {
  const withQuery = (query: string) => ({
    ...good,
    DATABASE_URL: `${good.DATABASE_URL}?sslmode=no-verify&${query}`,
  })
  for (const name of ['schema', 'options'])
    expect(problems(withQuery(`${name}=secret`))).toEqual([
      expect.stringMatching(`parameter ${name}: [^=]+$`),
    ])
  expect(
    ignoredParameters(withQuery('host=/run&connection_limit=5').DATABASE_URL),
  ).toEqual(['connection_limit'])
})

test('DATABASE_URL may have no host if its parameter host is a socket', () => {
  const socket = 'host=/cloudsql/project:region:instance'
  const DATABASE_URL = `postgresql://user:secret@/app?${socket}`
  expect(parseEnv({ ...good, DATABASE_URL }).DATABASE_URL).toBe(DATABASE_URL)
  expect(new pg.Client({ connectionString: DATABASE_URL })).toMatchObject({
    host: '/cloudsql/project:region:instance',
    database: 'app',
  })
  const pooled = { ...good, DATABASE_URL: `${DATABASE_URL}&pgbouncer=true` }
  expect(parseEnv(pooled).DATABASE_POOLED).toBe(true)
  expect(ignoredParameters(`${DATABASE_URL}&connection_limit=5`)).toEqual([
    'connection_limit',
  ])
  for (const [wrong, problem] of [
    ['postgresql://user:secret@/app', /^DATABASE_URL must be a URL like/],
    [`mysql://user:secret@/app?${socket}`, /^DATABASE_URL must be a URL like/],
    [`${DATABASE_URL}&schema=secret`, /^DATABASE_URL must not have the parameter schema/],
  ] as const)
    expect(problems({ ...good, DATABASE_URL: wrong })).toEqual([
      expect.stringMatching(problem),
    ])
})

test('a migration checks the database URLs as the server does', () => {
  const DATABASE_URL = `${good.DATABASE_URL}?schema=secret`
  const [problem] = problems({ ...good, DATABASE_URL })
  expect(() => parseMigrationUrl({ DATABASE_URL })).toThrow(problem)
  const direct = { ...good, DIRECT_DATABASE_URL: 'mysql://secret' }
  expect(() => parseMigrationUrl(direct)).toThrow(
    /DIRECT_DATABASE_URL must be a URL like [^ ]+$/,
  )
  expect(() => parseMigrationUrl({ DATABASE_URL: '' })).toThrow('DATABASE_URL is missing')
  const owner = 'postgresql://owner:secret@db.example.com/app'
  for (const [settings, expected] of [
    [{ DATABASE_URL: good.DATABASE_URL, DIRECT_DATABASE_URL: ' ' }, good.DATABASE_URL],
    [{ DATABASE_URL: good.DATABASE_URL, DIRECT_DATABASE_URL: owner }, owner],
    [{ DATABASE_URL: '', DIRECT_DATABASE_URL: owner }, owner],
  ] as const)
    expect(parseMigrationUrl(settings)).toBe(expected)
})

test('a proxy is a URL whose scheme may be missing, and lower-case names come first', () => {
  const proxy = 'http://user:secret@proxy.example.com:3128'
  for (const [settings, expected] of [
    [{ HTTPS_PROXY: proxy }, proxy],
    [{ HTTPS_PROXY: ' user:secret@proxy.example.com:3128 ' }, proxy],
    [{ HTTPS_PROXY: 'proxy:3128' }, 'http://proxy:3128'],
    [{ HTTPS_PROXY: 'https://proxy/' }, 'https://proxy/'],
    [{ HTTPS_PROXY: 'SOCKS5://proxy:1080' }, 'SOCKS5://proxy:1080'],
    [{ https_proxy: proxy, HTTPS_PROXY: 'http://other' }, proxy],
    [{ https_proxy: '', HTTPS_PROXY: proxy }, undefined],
    [{ HTTPS_PROXY: ' ' }, undefined],
  ] as const)
    expect(parseEnv({ ...good, ...settings }).HTTPS_PROXY).toBe(expected)
  expect(parseEnv({ ...good, http_proxy: 'proxy' }).HTTP_PROXY).toBe('http://proxy')
  for (const wrong of [
    'http://user:pa#secret@proxy:3128',
    'http://user:pa/secret@proxy:3128',
    'user:100%secret@proxy:3128',
    'user:%ffsecret@proxy:3128',
    'http://proxy:99999',
    'http://proxy:3128/secret',
    'http://proxy:3128/?secret',
    'ftp://secret@proxy',
    'http://',
  ])
    for (const name of ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy']) {
      const found = problems({ ...good, [name]: wrong })
      expect(found, wrong).toEqual([
        expect.stringMatching(`^${name.toUpperCase()} must be a URL like`),
      ])
      expect(found.join()).not.toContain('secret')
    }
})

test('lists the URLs that reach another host without TLS', () => {
  const { UPSTASH_REDIS_REST_URL: _, UPSTASH_REDIS_REST_TOKEN: __, ...none } = good
  const list = (settings: object) => unencryptedUrls(parseEnv({ ...none, ...settings }))
  const inProcess = { RATE_LIMIT: 'in-process', DATABASE_URL: 'postgresql://localhost/x' }
  const upstash = (url: string) => ({
    DATABASE_URL: inProcess.DATABASE_URL,
    UPSTASH_REDIS_REST_URL: url,
    UPSTASH_REDIS_REST_TOKEN: 'secret',
  })
  for (const DATABASE_URL of [
    good.DATABASE_URL,
    'postgresql://u@localhost/x?host=10.0.0.1',
  ])
    expect(list({ ...inProcess, DATABASE_URL }), DATABASE_URL).toEqual(['DATABASE_URL'])
  for (const DATABASE_URL of [
    'postgresql://u@127.0.0.1/x',
    'postgresql://u@[::1]/x',
    'postgresql://u@db.example.com/x?host=127.0.0.1',
    'postgresql://u@/x?host=/cloudsql/project:region:instance',
    'postgresql://u@%2Frun%2Fpostgresql/x',
    ...['disable', 'no-verify', 'verify-full'].map(
      (mode) => `${good.DATABASE_URL}?sslmode=${mode}`,
    ),
    `${good.DATABASE_URL}?ssl=true`,
  ])
    expect(list({ ...inProcess, DATABASE_URL }), DATABASE_URL).toEqual([])
  for (const [settings, expected] of [
    [{ ...good, ...upstash('http://x.example') }, ['UPSTASH_REDIS_REST_URL']],
    [upstash('https://x.upstash.io'), []],
    [upstash('http://localhost:8079'), []],
    [
      { ...inProcess, RATE_LIMIT: '', REDIS_URL: 'redis://:secret@r.example' },
      ['REDIS_URL'],
    ],
    [{ ...inProcess, RATE_LIMIT: '', REDIS_URL: 'rediss://r.example' }, []],
    [{ ...inProcess, RATE_LIMIT: '', REDIS_URL: 'redis://[::1]:6379' }, []],
    [{ ...inProcess, PASSWORD_BREACH_URL: 'http://b.example' }, ['PASSWORD_BREACH_URL']],
    [
      {
        ...inProcess,
        PASSWORD_BREACH_URL: 'http://b.example',
        PASSWORD_BREACH_CHECK: 'false',
      },
      [],
    ],
  ] as const)
    expect(list(settings), JSON.stringify(settings)).toEqual(expected)
})

test('a second factor requires password sign-in and an encryption key', () => {
  expect(problems({ ...good, SETUP_LINKS: 'true' })).toEqual([
    'ENCRYPTION_KEY is missing: SETUP_LINKS is true',
  ])
  expect(problems({ ...good, SECOND_FACTOR: 'true' })).toEqual([
    'SECOND_FACTOR needs PASSWORD_SIGN_IN=true',
    'ENCRYPTION_KEY is missing: SECOND_FACTOR is true',
  ])
  expect(
    problems({ ...good, SECOND_FACTOR: 'required', PASSWORD_SIGN_IN: 'true' }),
  ).toEqual(['ENCRYPTION_KEY is missing: SECOND_FACTOR is required'])
})

test('passkeys require password sign-in, and an address at which browsers allow them', () => {
  const passkeys = { PASSWORD_SIGN_IN: 'true', PASSKEYS: 'true' }
  const problemsWith = (settings: object) =>
    problems({ ...good, NODE_ENV: 'test', ...passkeys, ...settings })
  const https =
    'PASSKEYS needs a PUBLIC_URL that begins with https://, unless its host is localhost'
  const name =
    'PASSKEYS needs a host name in PUBLIC_URL, such as localhost, instead of an IP address'
  const domain = 'PASSKEY_DOMAIN must be the host of PUBLIC_URL or a parent domain of it'
  const login = 'https://login.example.com'

  expect(problemsWith({ PASSWORD_SIGN_IN: 'false' })).toEqual([
    'PASSKEYS needs PASSWORD_SIGN_IN=true',
  ])
  for (const [settings, expected] of [
    [{ PUBLIC_URL: login }, []],
    [{ PUBLIC_URL: 'http://localhost:3000' }, []],
    [{ PUBLIC_URL: 'http://login.localhost' }, []],
    [{ PUBLIC_URL: 'http://login.example.com' }, [https]],
    [{ PUBLIC_URL: 'http://127.0.0.1:3000' }, [name, https]],
    [{ PUBLIC_URL: 'https://[::1]' }, [name]],
    [{ PUBLIC_URL: login, PASSKEY_DOMAIN: 'login.example.com' }, []],
    [{ PUBLIC_URL: login, PASSKEY_DOMAIN: 'example.com' }, []],
    [{ PUBLIC_URL: login, PASSKEY_DOMAIN: 'n.example.com' }, [domain]],
    [{ PUBLIC_URL: login, PASSKEY_DOMAIN: 'app.login.example.com' }, [domain]],
    [{ PUBLIC_URL: login, PASSKEY_DOMAIN: 'example.org' }, [domain]],
    [
      { PUBLIC_URL: login, PASSKEY_DOMAIN: 'https://example.com' },
      ['PASSKEY_DOMAIN must be a domain in lower case, like example.com'],
    ],
  ] as const)
    expect(problemsWith(settings), JSON.stringify(settings)).toEqual(expected)
  expect(problems({ ...good, PASSKEY_DOMAIN: 'example.org' })).toEqual([])
})

test('all missing settings are listed together, and empty settings count as missing', () => {
  const names = (lines: string[]) => lines.map((line) => line.split(' ')[0])
  const all = ['DATABASE_URL', 'PUBLIC_URL', 'SESSION_SIGNING_KEYS', 'REDIS_URL']
  expect(names(problems({ NODE_ENV: 'production' }))).toEqual(all)
  const blank = Object.fromEntries(Object.keys(good).map((name) => [name, ' ']))
  expect(names(problems({ ...blank, NODE_ENV: 'production' }))).toEqual(all)
})

test('invalid settings are listed together with missing ones, without their values', () => {
  const wrong = {
    DATABASE_URL: 'mysql://secret',
    PUBLIC_URL: 'https://login.example.com/path',
    SESSION_SIGNING_KEYS: '{"keys":["secret"]}',
    TRUSTED_PROXIES: 'secret',
    PASSWORD_MIN_LENGTH: '7',
    DASHBOARD_URL: '//secret.example',
    UPSTASH_REDIS_REST_TOKEN: '',
  }
  const lines = problems({ ...good, ...wrong })
  expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(
    Object.keys(wrong).sort(),
  )
  expect(lines.join()).not.toContain('secret')
})

test('the Redis settings decide where requests are counted, and production without them requires RATE_LIMIT=in-process', () => {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token, ...none } = good
  const redis = { ...none, REDIS_URL: 'rediss://user:secret@redis.example.com:6380' }
  const vercel = { ...redis, KV_REST_API_URL: url, KV_REST_API_TOKEN: token }
  const upstash = 'UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN'
  for (const [settings, chosen] of [
    [redis, 'redis'],
    [good, 'upstash'],
    [vercel, 'upstash'],
    [{ ...vercel, RATE_LIMIT: 'redis' }, 'redis'],
    [{ ...none, RATE_LIMIT: 'in-process' }, 'in-process'],
    [{ ...none, NODE_ENV: 'development' }, 'in-process'],
  ] as const)
    expect(parseEnv(settings).RATE_LIMIT).toBe(chosen)
  for (const [settings, ...expected] of [
    [
      none,
      'REDIS_URL is missing: set it, or UPSTASH_REDIS_REST_URL, or RATE_LIMIT=in-process for a single process',
    ],
    [{ ...none, RATE_LIMIT: 'redis' }, 'REDIS_URL is missing'],
    [
      { ...none, RATE_LIMIT: 'upstash' },
      'UPSTASH_REDIS_REST_URL is missing',
      'UPSTASH_REDIS_REST_TOKEN is missing',
    ],
    // otherwise one of the two settings would be ignored silently
    [
      { ...good, ...redis },
      `REDIS_URL conflicts with ${upstash}: remove one or the other`,
    ],
    [
      { ...good, ...redis, RATE_LIMIT: 'upstash' },
      'RATE_LIMIT=upstash conflicts with REDIS_URL: remove one or the other',
    ],
    [
      { ...good, RATE_LIMIT: 'in-process' },
      `RATE_LIMIT=in-process conflicts with ${upstash}: remove one or the other`,
    ],
    [
      { ...none, REDIS_URL: 'http://localhost' },
      'REDIS_URL must be a URL like redis://user:password@host:6379',
    ],
  ] as const)
    expect(problems(settings)).toEqual(expected)
})

test('ENCRYPTION_KEY is a list of 256-bit keys in base64 or base64url, and its old name still works', () => {
  const [first, second] = [Buffer.alloc(32, 250), Buffer.alloc(32, 7)]
  const list = `${first.toString('base64')}, ${second.toString('base64url')}`
  const keys = [new Uint8Array(first), new Uint8Array(second)]
  const old = { CONNECTION_SECRETS_KEY: list }
  const both = { ENCRYPTION_KEY: list, CONNECTION_SECRETS_KEY: 'ignored' }
  for (const settings of [
    { ENCRYPTION_KEY: list },
    old,
    both,
    { ...old, ENCRYPTION_KEY: ' ' },
  ])
    expect(
      parseEnv({ ...good, ...settings }).ENCRYPTION_KEY,
      JSON.stringify(settings),
    ).toEqual(keys)
  expect(parseEnv(good).ENCRYPTION_KEY).toBeUndefined()
  for (const settings of [{}, both, { CONNECTION_SECRETS_KEY: '' }])
    expect(renamedSetting(settings)).toBeNull()
  for (const settings of [old, { ...old, ENCRYPTION_KEY: '' }])
    expect(renamedSetting(settings)).toMatch(/ENCRYPTION_KEY/)
  for (const wrong of [
    'secret',
    first.subarray(1).toString('base64'),
    `${list},`,
    first.toString('hex'),
  ])
    expect(problems({ ...good, ENCRYPTION_KEY: wrong })).toEqual([
      'ENCRYPTION_KEY must be 32 random bytes in base64, or several of these separated by commas',
    ])
})

test('on Vercel, PUBLIC_URL has a default', () => {
  const onVercel = {
    ...good,
    PUBLIC_URL: undefined,
    VERCEL: '1',
    VERCEL_URL: 'app-123.vercel.app',
    VERCEL_PROJECT_PRODUCTION_URL: 'login.example.com',
  }
  expect(parseEnv({ ...onVercel, VERCEL_ENV: 'production' }).PUBLIC_URL).toBe(
    'https://login.example.com',
  )
  expect(parseEnv({ ...onVercel, VERCEL_ENV: 'preview' }).PUBLIC_URL).toBe(
    'https://app-123.vercel.app',
  )
})

test('production requires https, except on loopback', () => {
  const wrong =
    'PUBLIC_URL must begin with https:// in production, unless its host is localhost'
  const names = [
    'login.example.com',
    'localhost.example.com',
    'notlocalhost',
    '127.0.0.1.example.com',
  ]
  for (const host of [...names, '128.0.0.1', '0.0.0.0', '10.0.0.1', '[::2]']) {
    expect(problems({ ...good, PUBLIC_URL: `http://${host}` }), host).toEqual([wrong])
    expect(problems({ ...good, PUBLIC_URL: `HTTP://${host}:8080` }), host).toEqual([
      wrong,
    ])
    expect(problems({ ...good, PUBLIC_URL: `https://${host}` }), host).toEqual([])
    expect(
      problems({ ...good, PUBLIC_URL: `http://${host}`, NODE_ENV: 'development' }),
      host,
    ).toEqual([])
  }
  for (const host of [
    'localhost',
    'LOCALHOST',
    'app.localhost',
    '127.0.0.1',
    '127.255.0.9',
    '[::1]',
  ]) {
    expect(
      problems({ ...good, PUBLIC_URL: `http://${host}:3000`, TRUSTED_PROXIES: '0' }),
      host,
    ).toEqual([])
  }
  const several = problems({
    ...good,
    PUBLIC_URL: 'http://login.example.com',
    DATABASE_URL: 'wrong',
  })
  // the list contains all other problems too
  expect(several).toEqual([expect.stringMatching(/^DATABASE_URL /), wrong])
  expect(problems({ ...good, PUBLIC_URL: 'http://login.example.com/path' })).toHaveLength(
    2,
  )
})

test('production requires a reverse proxy, except on loopback and on Vercel', () => {
  const wrong = expect.stringMatching(/^TRUSTED_PROXIES must be at least 1 in production/)
  for (const TRUSTED_PROXIES of ['', '0', undefined])
    expect(problems({ ...good, TRUSTED_PROXIES })).toEqual([wrong])
  expect(problems({ ...good, TRUSTED_PROXIES: '0', NODE_ENV: 'development' })).toEqual([])
  expect(problems({ ...good, TRUSTED_PROXIES: '0', VERCEL: '1' })).toEqual([])
})

test('the breached-password check is on by default in production, and off by default elsewhere', () => {
  const check = (settings: Record<string, string>) =>
    parseEnv({ ...good, ...settings }).PASSWORD_BREACH_CHECK
  expect(check({})).toBe(true)
  expect(check({ PASSWORD_BREACH_CHECK: '' })).toBe(true)
  expect(check({ PASSWORD_BREACH_CHECK: 'false' })).toBe(false)
  expect(check({ NODE_ENV: 'development' })).toBe(false)
  expect(check({ NODE_ENV: 'development', PASSWORD_BREACH_CHECK: 'true' })).toBe(true)
  expect(problems({ ...good, PASSWORD_BREACH_CHECK: 'no' })).toHaveLength(1)
})

test('email requires SMTP_URL and MAIL_FROM, and enables the forgot-password page', () => {
  const mail = {
    SMTP_URL: 'smtps://user:p%40ss@smtp.example.com',
    MAIL_FROM: 'login@example.com',
  }
  expect(parseEnv(good).FORGOT_PASSWORD_URL).toBeUndefined()
  expect(parseEnv({ ...good, ...mail }).FORGOT_PASSWORD_URL).toBe('/forgot-password')
  const own = { ...good, ...mail, FORGOT_PASSWORD_URL: 'https://www.example.com/forgot' }
  expect(parseEnv(own).FORGOT_PASSWORD_URL).toBe('https://www.example.com/forgot')
  expect(problems({ ...good, SMTP_URL: mail.SMTP_URL })).toEqual([
    expect.stringMatching(/^MAIL_FROM is missing/),
  ])
  expect(problems({ ...good, MAIL_FROM: mail.MAIL_FROM })).toEqual([
    expect.stringMatching(/^SMTP_URL is missing/),
  ])
  for (const SMTP_URL of [
    'smtp://localhost:1025',
    'smtp://[::1]:25',
    'smtp://smtp.example.com:587/',
  ])
    expect(problems({ ...good, ...mail, SMTP_URL }), SMTP_URL).toEqual([])
  // nodemailer reads options from URL parameters, such as one that disables the
  // certificate check.
  for (const SMTP_URL of [
    'smtp://u:pa/ss@host',
    'smtp://u:1/2@host',
    'smtp://u:p#ss@host',
    'smtp://u:p?ss@host',
  ])
    expect(problems({ ...good, ...mail, SMTP_URL })[0], SMTP_URL).toMatch(
      /^SMTP_URL must .*%2F for \//,
    )
  for (const SMTP_URL of ['smtp://u:100%@host', 'smtp://u:%zz@host'])
    expect(problems({ ...good, ...mail, SMTP_URL }), SMTP_URL).toEqual([
      expect.stringMatching(/^SMTP_URL has a %.*%25/),
    ])
  for (const SMTP_URL of [
    'https://smtp.example.com',
    'smtp.example.com',
    'smtp://secret@host/?ignoreTLS=true',
  ]) {
    const lines = problems({ ...good, ...mail, SMTP_URL })
    expect(lines[0], SMTP_URL).toMatch(/^SMTP_URL must /)
    expect(lines.join()).not.toContain('secret')
  }
  for (const MAIL_FROM of ['Login <login@example.com>', 'a@x, b@y', 'login'])
    expect(problems({ ...good, ...mail, MAIL_FROM }), MAIL_FROM).toEqual([
      expect.stringMatching(/^MAIL_FROM /),
    ])
})

test('numbers, flags and choices have sentences of their own', () => {
  for (const [name, wrong, problem] of [
    ['TRUSTED_PROXIES', 'one', 'must be a whole number from 0 to 10'],
    ['TRUSTED_PROXIES', '1.5', 'must be a whole number from 0 to 10'],
    ['DATABASE_POOL_SIZE', '0', 'must be a whole number from 1 to 500'],
    ['SMTP_MAX_CONNECTIONS', '51', 'must be a whole number from 1 to 50'],
    ['SMTP_MAX_CONNECTIONS', '0', 'must be a whole number from 1 to 50'],
    ['CORNER_RADIUS', '25', 'must be a number from 0 to 24'],
    ['CORNER_RADIUS', '4px', 'must be a number from 0 to 24'],
    ['SECOND_FACTOR', 'yes', 'must be true, false or required'],
    ['SESSION_IDLE_MINUTES', '29', 'must be a whole number from 30 to 10080'],
    ['SESSION_IDLE_MINUTES', '10081', 'must be a whole number from 30 to 10080'],
    ['METRICS_PORT', '0', 'must be a whole number from 1 to 65535'],
    ['METRICS_PORT', '3000', 'must not be the port of the server (PORT)'],
    ['METRICS_HOST', 'http://localhost', 'must be an IPv4 address or a host name'],
    ['METRICS_HOST', '::1', 'must be an IPv4 address or a host name'],
    ['LOG_LEVEL', 'trace', 'must be debug, info, warn, error or silent'],
    ['RATE_LIMIT', 'memory', 'must be redis, upstash or in-process'],
    ['APP_NAME', 'x'.repeat(61), 'must have at most 60 characters'],
    ['SESSION_SIGNING_KEYS', 'x', 'is not JSON'],
  ] as const)
    expect(problems({ ...good, [name]: wrong }), name).toEqual([`${name} ${problem}`])
  expect(problems({ ...good, PORT: '9464', METRICS_PORT: '9464' })).toHaveLength(1)
  expect(problems({ ...good, PORT: '4000', METRICS_PORT: '3000' })).toEqual([])
  expect(parseEnv(good)).toMatchObject({ METRICS_HOST: '127.0.0.1' })
  expect(parseEnv(good).METRICS_PORT).toBeUndefined()
  expect(parseEnv(good).SMTP_MAX_CONNECTIONS).toBe(2)
  expect(parseEnv({ ...good, CORNER_RADIUS: '4.5' }).CORNER_RADIUS).toBe(4.5)
})

test('the error of an invalid setting says if an env file has left quotes or a comment', () => {
  const quotes = /; its value has quotes around it, .*: remove them$/
  const comment = /; its value has a # after a space, .* on a line of its own$/
  const { DATABASE_URL, PUBLIC_URL, SESSION_SIGNING_KEYS } = good
  for (const [name, wrong, remedy] of [
    ['DATABASE_URL', `"${DATABASE_URL}"`, quotes],
    ['PUBLIC_URL', `'${PUBLIC_URL}'`, quotes],
    ['PUBLIC_URL', `"${PUBLIC_URL}" # of the test`, quotes],
    ['PUBLIC_URL', `“${PUBLIC_URL}”`, quotes],
    ['SESSION_SIGNING_KEYS', `'${SESSION_SIGNING_KEYS}'`, quotes],
    ['TRUSTED_PROXIES', '"1"', quotes],
    ['PASSWORD_SIGN_IN', '"true"', quotes],
    ['HTTPS_PROXY', '"http://user:secret@proxy:3128"', quotes],
    ['ENCRYPTION_KEY', `"${Buffer.alloc(32, 1).toString('base64')}"`, quotes],
    ['PASSWORD_SIGN_IN', 'true # for the test', comment],
    ['TRUSTED_PROXIES', '1 #nginx', comment],
  ] as const) {
    const [problem] = problems({ ...good, [name]: wrong })
    expect(problem, `${name}=${wrong}`).toMatch(remedy)
    expect(problem).toMatch(new RegExp(`^${name} `))
    expect(problem).not.toContain('secret')
  }
  expect(problems({ ...good, PUBLIC_URL: 'login.example.com' })).toEqual([
    'PUBLIC_URL must be a URL that begins with https:// or http://',
  ])
  expect(problems({ ...good, DASHBOARD_URL: 'www.example.com/#x' })).toEqual([
    expect.not.stringContaining(';'),
  ])
  const quoted = { DATABASE_URL: `"${DATABASE_URL}"` }
  expect(() => parseMigrationUrl(quoted)).toThrow(/docker --env-file/)
})

test('white space around a value, such as a carriage return, is ignored', () => {
  const names = Object.keys(good).filter((name) => name !== 'NODE_ENV')
  const padded = Object.fromEntries(
    names.map((name) => [name, ` ${good[name as keyof typeof good]} \r`]),
  )
  const more = { APP_NAME: 'ACME\r', PASSWORD_SIGN_IN: 'true\r', LOG_LEVEL: ' warn ' }
  expect(parseEnv({ ...good, ...padded, ...more })).toMatchObject({
    DATABASE_URL: good.DATABASE_URL,
    UPSTASH_REDIS_REST_TOKEN: 'secret',
    APP_NAME: 'ACME',
    PASSWORD_SIGN_IN: true,
    LOG_LEVEL: 'warn',
  })
})

test('warns about quotes, comments and names that an env file has left in valid settings', () => {
  const warned = (settings: Record<string, string>) =>
    envFileWarnings({ ...good, ...settings }).map(
      (warning) => `${warning.settings.join()}: ${warning.message}`,
    )
  expect(warned({})).toEqual([])
  for (const [settings, expected] of [
    [
      { APP_NAME: '"ACME"', CRON_SECRET: `'${'x'.repeat(20)}'` },
      /^CRON_SECRET,APP_NAME: .*quotes/,
    ],
    [{ SESSION_AUDIENCE: '“reports”' }, /^SESSION_AUDIENCE: .*quotes/],
    [{ FONT_FAMILY: '"Inter, system-ui"' }, /^FONT_FAMILY: .*quotes/],
    [{ NO_PROXY: '"localhost"' }, /^NO_PROXY: .*quotes/],
    [{ APP_NAME: 'ACME # our name' }, /^APP_NAME: .*a comment/],
    [{ DASHBOARD_URL: 'https://a.example/ # it' }, /^DASHBOARD_URL: .*a comment/],
    [{ 'export APP_NAME': 'ACME' }, /^APP_NAME: .*export/],
    [{ 'HELP_URL ': '/help' }, /^HELP_URL: .*spaces/],
    [{ '\uFEFFAPP_NAME': 'ACME' }, /^APP_NAME: /],
  ] as [Record<string, string>, RegExp][])
    expect(warned(settings), JSON.stringify(settings)).toEqual([
      expect.stringMatching(expected),
    ])
  for (const settings of [
    { APP_NAME: 'Team #1' },
    { FONT_FAMILY: '"Open Sans", "Helvetica Neue"' },
    { FONT_FAMILY: '"Open Sans"' },
    { APP_NAME: 'Bob’s' },
    { APP_NAME: 'ACME', 'export APP_NAME': 'Other' },
    { EDITOR: '"vi"' },
  ] as Record<string, string>[])
    expect(warned(settings), JSON.stringify(settings)).toEqual([])

  const { PUBLIC_URL, ...others } = good
  expect(problems({ ...others, 'export PUBLIC_URL': PUBLIC_URL })).toEqual([
    expect.stringMatching(/^PUBLIC_URL is missing: its name begins with “export”/),
  ])
})
