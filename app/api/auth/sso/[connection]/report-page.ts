import { escapeHtml } from '@/lib/brand/escape-html'
import { plainPage } from '@/lib/brand/plain-page'
import {
  copyableValue,
  copyScript,
  showValue as value,
  valueStyles,
} from '@/lib/brand/values'
import { env } from '@/lib/settings/env'
import { explainCheck } from '@/lib/sso/check-meanings'
import { advice } from '@/lib/sso/rejection'
import { explainToHolder, showsWorking } from '@/lib/sso/setup/check-meanings'
import type { Report } from '@/lib/sso/test-sign-in'
import { textsIn } from '@/lib/texts/texts'

const maxValues = 100
const noticeableSeconds = 60

const styles = `${valueStyles}
body{max-width:46rem}
.failed{font-weight:600}`

/**
 * Returns the page with the report of a test sign-in. Every value from the provider is
 * escaped text. English only, because operators and the holders of setup links read it.
 * `isSetup`: a setup link began the test, so its holder reads the page.
 */
export function reportPage(report: Report, nonce: string, isSetup = false): string {
  const main = [
    ...(isSetup ? introduceSetup(report) : introduce(report)),
    checks(report, isSetup),
    account(report),
    expected(report),
    received(report),
    `<script nonce="${nonce}">${copyScript}</script>`,
  ]

  const title = chooseTitle(report, isSetup)

  return plainPage(textsIn('en'), nonce, title, main.join(''), styles)
}

function chooseTitle({ outcome }: Report, isSetup: boolean): string {
  if ('decision' in outcome) return 'The sign-in would work'
  if (isSetup && showsWorking(outcome.check)) return 'The connection works'

  return 'The sign-in would be rejected'
}

function introduce(report: Report): string[] {
  const intro = `<p>This was a test of ${value(report.slug)}. Nobody was signed in, and nothing that the provider sent is stored.</p>`
  return [intro, outcome(report)]
}

/** The holder of a setup link knows neither our commands nor the slug. */
function introduceSetup({ outcome, account }: Report): string[] {
  const isStored = 'decision' in outcome || showsWorking(outcome.check)
  const stored = isStored ? 'only the email address of this account' : 'nothing'
  const isFailed = 'check' in outcome && !isStored
  const next = isFailed ? 'correct the values or test again' : 'go on with the setup'

  return [
    `<p>This was a test. Nobody was signed in, and ${stored} is stored.</p>`,
    ...describeSetupOutcome(outcome, account),
    `<p>To ${next}, close this tab, or open <a href="/setup">the setup page</a>.</p>`,
  ]
}

function describeSetupOutcome(
  outcome: Report['outcome'],
  account: Report['account'],
): string[] {
  const app = value(env().APP_NAME)
  if ('decision' in outcome) {
    const asNew = outcome.decision === 'create' ? ', as a new user' : ''
    return [
      `<p><strong>${value(outcome.email)} could sign in to ${app} with this account${asNew}.</strong></p>`,
    ]
  }

  const { check } = outcome
  const meaning = `<p>${escapeHtml(explainToHolder(check))}</p>`
  if (!showsWorking(check)) return [nameCheck(check), meaning]

  const email = value(account!.email!)
  return [
    `<p><strong>Everything that your provider sent is right, for ${email}.</strong></p>`,
    meaning,
  ]
}

function nameCheck(check: string): string {
  return `<p><strong>Check: <code>${escapeHtml(check)}</code></strong></p>`
}

/** Returns the page for a link that can't start a test. */
export function invalidTestPage(slug: string, nonce: string): string {
  const text =
    'The link has expired, was changed, or is for another connection. For a new one:'
  const command = `npm run connections -- try ${slug}`

  return plainPage(
    textsIn('en'),
    nonce,
    'This link starts no test',
    `<p>${text} <code>${escapeHtml(command)}</code></p>`,
    styles,
  )
}

const decisions = {
  known: (email: string) => `Would sign in ${value(email)} (linked).`,
  link: (email: string) => `Would link ${value(email)} to this account, and sign in.`,
  create: (email: string) => `Would create ${value(email)}, and sign in.`,
}

function outcome({ outcome }: Report): string {
  if ('decision' in outcome)
    return `<p><strong>${decisions[outcome.decision](outcome.email)}</strong></p>`

  const { check } = outcome
  const meaning = explainCheck(check) ?? ''
  const remedy = advice[check] ? `<p>${escapeHtml(advice[check])}</p>` : ''

  return `${nameCheck(check)}<p>${escapeHtml(meaning)}</p>${remedy}`
}

function checks({ steps, aheadSeconds, outcome }: Report, isSetup: boolean): string {
  const works = isSetup && 'check' in outcome && showsWorking(outcome.check)
  const items = steps.map(({ label, state }) => {
    if (state !== 'failed') return `<li>${escapeHtml(label)}: ${state}</li>`
    if (works) return `<li>${escapeHtml(label)}: not yet</li>`
    return `<li class="failed">${escapeHtml(label)}: failed</li>`
  })

  return `<h2>Checks</h2><ol>${items.join('')}</ol>${clock(aheadSeconds)}`
}

function clock(aheadSeconds: number | null): string {
  if (aheadSeconds === null) return ''

  const seconds = Math.abs(aheadSeconds)
  const direction = aheadSeconds < 0 ? 'behind' : 'ahead of'
  const warning =
    seconds > noticeableSeconds
      ? ' Correct the wrong clock: 180 seconds are tolerated.'
      : ''

  const unit = seconds === 1 ? 'second' : 'seconds'

  return `<p>The clock of the provider is ${seconds} ${unit} ${direction} ours.${warning}</p>`
}

function account({ account }: Report): string {
  if (!account) return ''

  const { subject, issuer, email, source, isVerified, domain } = account
  const entries: [string, string | null][] = [
    ['subject', subject],
    ['issuer', issuer],
    ['email address', email],
    ['where the address came from', source],
    ['counts as verified', describeFlag(isVerified)],
    ['domain', domain],
  ]
  const known = entries.flatMap(([name, text]) => (text === null ? [] : [[name, text]]))

  return `<h2>Account</h2>${list(known as [string, string][])}`
}

function describeFlag(flag: boolean | null): string | null {
  if (flag === null) return null
  return flag ? 'yes' : 'no'
}

function expected({ expected }: Report): string {
  if (expected.length === 0) return ''

  const entries = expected.map(({ name, ours, received }) => {
    const state = received.includes(ours) ? 'as expected' : 'other than expected'
    const mark = received.length > 0 && name !== 'certificate' ? `, ${state}` : ''
    const sent = received.slice(0, 10).map((each) => `<dd>${value(each)}</dd>`)

    return `<h3>${escapeHtml(name)}</h3>
<dl><dt>ours</dt><dd>${copyableValue(ours)}</dd>
<dt>received${mark}</dt>${sent.join('') || '<dd>nothing</dd>'}</dl>`
  })

  return `<h2>Expected</h2>${entries.join('')}`
}

function received({ received, isVerified }: Report): string {
  if (received.length === 0) return ''

  let left = maxValues
  const parts = received.map(({ from, values }) => {
    const shown = values.slice(0, left) as [string, string][]
    left -= shown.length
    const omitted = values.length - shown.length
    const rest = omitted > 0 ? `<p>And ${omitted} more values.</p>` : ''

    return `<h3>${escapeHtml(from)}</h3>${list(shown)}${rest}`
  })
  const mark = isVerified ? '' : ' (not verified)'

  return `<h2>Received${mark}</h2>${parts.join('')}`
}

function list(entries: [string, string][]): string {
  const items = entries.map(
    ([name, text]) => `<dt>${value(name)}</dt><dd>${value(text)}</dd>`,
  )
  return `<dl>${items.join('')}</dl>`
}
