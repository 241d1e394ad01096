import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import PostalMime from 'postal-mime'
import { project } from '../../bin/dev/local'
import { expect, test } from '../support/fixtures'
import { temporaryFolder } from '../support/servers/program'
import { startRspamd } from '../support/servers/rspamd'
import { startSmtp } from '../support/servers/smtp'

// Shows every kind of email, in every language, to the spam filters and the text browsers
// of Debian. None of them uses the network.

type Sample = {
  name: string
  raw: string
  file: string
  html: string
  sentences: string[]
}

// Filters have rules about domains that are reserved, such as example.com.
const domain = 'meadow-lantern.net'
const recipient = 'ada@harbor-street.net'

const logo = { mailLogo: '/brand/logo.png' }
const logos = { ...logo, mailLogoDark: '/brand/logo-dark.png' }

/** Brands that add links or images to an email, and the languages. None means all. */
const brands: [settings: Record<string, string>, languages: string[]][] = [
  [{}, []],
  [{ HELP_URL: '/help' }, ['en']],
  [{ BRAND_FILES: JSON.stringify(logo) }, ['en']],
  [
    { BRAND_FILES: JSON.stringify(logos), HELP_URL: `https://www.${domain}/help` },
    ['en'],
  ],
]

const folder = temporaryFolder('mail-scores')
const inUtf8 = { ...process.env, HOME: folder.path, LC_ALL: 'C.UTF-8', TERM: 'dumb' }
const samples: Sample[] = []

test.beforeAll(async () => {
  const smtp = await startSmtp()
  const names: string[] = []

  try {
    for (const [settings, languages] of brands)
      names.push(...(await sendEveryMail({ ...smtp.settings, ...settings }, languages)))
  } finally {
    await smtp.stop()
  }

  for (const [index, { raw }] of smtp.mails.entries())
    samples.push(await makeSample(names[index]!, index, raw))
})
test.afterAll(() => folder.remove())

/** Sends the test email, and every kind in each language. Returns their names. */
async function sendEveryMail(
  settings: Record<string, string>,
  languages: string[],
): Promise<string[]> {
  const file = `${project}e2e/support/servers/send-every-mail.ts`
  const program = ['--import', 'tsx', file, recipient, ...languages]
  const sender = {
    MAIL_FROM: `login@${domain}`,
    PUBLIC_URL: `https://login.${domain}`,
  }
  const env = { ...process.env, ...settings, ...sender }

  const { stdout } = await promisify(execFile)(process.execPath, program, {
    cwd: project,
    env,
  })
  const look = Object.keys(settings).filter((name) => /HELP|BRAND/.test(name))
  return (JSON.parse(stdout) as string[]).map((name) => [name, ...look].join(' '))
}

/** Adds what a receiving server adds, and writes the email and its HTML into files. */
async function makeSample(name: string, index: number, raw: string): Promise<Sample> {
  const { text, html } = await PostalMime.parse(raw)
  const received = `Received: from relay.${domain} (relay.${domain} [198.18.0.25])
\tby mx.harbor-street.net with ESMTPS id 4Wd5xK2${String(index).padStart(4, '0')}
\tfor <${recipient}>; ${new Date().toUTCString().replace('GMT', '+0000')}\n`
  const delivered = `Return-Path: <login@${domain}>\n${received}${raw.replaceAll('\r\n', '\n')}`

  const file = `${folder.path}/mails/${String(index).padStart(4, '0')}.eml`
  const htmlFile = file.replace('.eml', '.html').replace('/mails/', '/pages/')
  for (const each of ['mails', 'pages'])
    mkdirSync(`${folder.path}/${each}`, { recursive: true })
  writeFileSync(file, delivered)
  writeFileSync(htmlFile, html!)

  const sentences = text!.split('\n').filter((line) => /[.؟?!]$/.test(line))
  return { name, raw: delivered, file, html: htmlFile, sentences }
}

/** Returns the rules that give an email more than 0.5 points for its content. */
function findHeavyRules(scores: Record<string, number>): string[] {
  return Object.entries(scores)
    .filter(([, score]) => score > 0.5)
    .map(([rule, score]) => `${rule} ${score}`)
}

test('SpamAssassin: no rule about the content gives more than 0.5 points', () => {
  // one process, because it reads its rules for seconds
  const output = execFileSync(
    'spamassassin',
    [
      ...['--local', '--nocreate-prefs'],
      ...['use_bayes 0', 'report_safe 0', 'fold_headers 0'].map((line) => `--cf=${line}`),
      '--cf=add_header all Scores _TESTSSCORES_',
      ...samples.map(({ file }) => file),
    ],
    { encoding: 'utf8', maxBuffer: 2 ** 28, env: inUtf8 },
  )
  const lines = [...output.matchAll(/^X-Spam-Scores: (.*)$/gm)].map(([, line]) => line!)
  expect(lines).toHaveLength(samples.length)

  const heavy = lines.flatMap((line, index) => {
    const scores = line.split(',').map((rule) => rule.split('=') as [string, string])
    const numbers = scores.map(([rule, score]) => [rule, Number(score)])
    const rules = findHeavyRules(Object.fromEntries(numbers))
    return rules.map((rule) => `${samples[index]!.name}: ${rule}`)
  })
  expect(heavy).toEqual([])
})

test('rspamd: no rule about the content gives more than 0.5 points', async () => {
  const rspamd = await startRspamd()
  try {
    // Until rspamd has seen some emails, it guesses the language of a short text. It
    // distrusts the accents of a subject if it guesses a language without accents.
    await Promise.all(samples.map(({ raw }) => rspamd.score(raw)))

    const heavy = await Promise.all(
      samples.map(async ({ name, raw }) => {
        const rules = findHeavyRules(await rspamd.score(raw))
        return rules.map((rule) => `${name}: ${rule}`)
      }),
    )
    expect(heavy.flat()).toEqual([])
  } finally {
    await rspamd.stop()
  }
})

/** The text browsers, with the options to print a page in UTF-8 and in long lines. */
const browsers = {
  lynx: '-dump -nolist -width=1000 -assume_charset=utf-8 -display_charset=utf-8',
  w3m: '-dump -T text/html -cols 1000 -I UTF-8 -O UTF-8',
  elinks: '-no-home -dump -no-references -dump-width 500 -dump-charset UTF-8',
  html2text: '-utf8 -width 1000',
}

for (const [browser, options] of Object.entries(browsers))
  test(`${browser} shows each sentence once`, () => {
    // elinks loses letters next to characters without a width, such as vowel marks
    const shown = samples.filter(
      ({ name }) => browser !== 'elinks' || !/ ar\b/.test(name),
    )

    const wrong = shown.flatMap(({ name, html, sentences }) => {
      const parameters = [...options.split(' '), html]
      const page = execFileSync(browser, parameters, { encoding: 'utf8', env: inUtf8 })
      return sentences
        .filter((sentence) => countIn(page, sentence) !== 1)
        .map((sentence) => `${name}: ${countIn(page, sentence)} times ${sentence}`)
    })
    expect(shown.length).toBeGreaterThan(50)
    expect(wrong).toEqual([])
  })

/** Counts a text in a page, without what browsers change: spaces, lines and marks. */
function countIn(page: string, text: string): number {
  const keepLetters = (each: string) =>
    each.normalize('NFKC').replace(/[^\p{L}\p{N}]/gu, '')

  return keepLetters(page).split(keepLetters(text)).length - 1
}
