// The commands about sign-ins through a connection: tests, and rejected accounts.
import type { ListedConnection } from '../lib/sso/manage/connections'
import { listRejected, type RejectedSignIn } from '../lib/sso/rejected'
import { createTestUrl } from '../lib/sso/test-link'

const users = 'npm run users --'

/** Prints the URL that starts a test sign-in. */
export function printTest(connection: ListedConnection): void {
  console.log('Open this URL, and sign in at the provider. Nobody is signed in here:')
  console.log(`  ${createTestUrl(connection)}`)
  console.log(
    'The page after it shows what the provider sends, and what a sign-in would do. The link works for 1 hour, for everybody who has it.',
  )
}

/** Prints the rejected accounts of a connection, and what lets each of them in. */
export async function printRejected(connection: ListedConnection): Promise<void> {
  const { id, slug } = connection
  const rejected = await listRejected(id)
  if (rejected.length === 0) {
    console.log(`${slug} has rejected no account in the past 7 days.`)
    console.log('Responses that could not be verified are only in the log.')
    return
  }

  for (const each of rejected) {
    console.log(describe(each))
    const remedy = suggest(slug, each)
    if (remedy) console.log(`  ${remedy}`)
  }
}

/**
 * Prints the rejected accounts with an address, and for each the command that links it.
 * Links nothing: where users can edit the claim, anybody could be the first with an
 * address.
 */
export async function printLinkable(
  { id, slug, settings }: ListedConnection,
  email: string,
): Promise<void> {
  const rejected = await listRejected(id, email)
  if (rejected.length === 0)
    return console.log(
      `No account with the address ${email} was rejected at ${slug} in the past 7 days. Let the person sign in once, then repeat this.`,
    )

  console.log('Nothing is linked yet. Compare the subject with the provider, then run:')
  for (const each of rejected) {
    console.log(describe(each))
    const issuer = each.issuer === settings.issuer ? [] : ['--issuer', each.issuer]
    console.log(`  ${formatCommand('link', ...issuer, '--', email, slug, each.subject)}`)
  }
}

function describe({ lastAt, reason, email, subject, count }: RejectedSignIn): string {
  const time = lastAt.toISOString().slice(0, 16).replace('T', ' ')
  const times = count === 1 ? '1 time' : `${count} times`

  return [time, reason, email ?? 'no address', show(subject), times].join('  ')
}

/** Returns a text from a provider without characters that control a terminal. */
function show(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD')
}

/** Returns the command that lets a rejected account in, if it depends on one. */
function suggest(slug: string, { reason, email }: RejectedSignIn): string | null {
  if (email === null) return null

  const toLink = `To let this account in: ${formatCommand('link', email, slug)}`
  const remedies: Record<string, string> = {
    identity_second_factor: toLink,
    subject_unlinked: toLink,
    email_domain: toLink,
    email_unverified: toLink,
    email_claim_untrusted: toLink,
    email_hosted_domain: toLink,
    identity_other_subject: `If the person has this account instead: ${formatCommand('unlink', email, slug)}`,
    identity_not_provisioned: `To add the user: ${formatCommand('add', email)}`,
    user_disabled: `To enable the user: ${formatCommand('enable', email)}`,
  }

  return remedies[reason] ?? null
}

/**
 * Returns a command that can be pasted into a shell, whatever the provider sent. `--` ends
 * the options, and is left out where it changes nothing.
 */
function formatCommand(...parts: string[]): string {
  const subject = parts.at(-1)!
  if (/\p{C}/u.test(subject))
    return 'This subject has control characters, so no command can be printed.'

  const needsEnd = parts.slice(parts.indexOf('--') + 1).some((each) => /^-/.test(each))
  const used = parts.filter((part) => part !== '--' || needsEnd)

  return [users, ...used.map(quote)].join(' ')
}

/** Quotes a text for a POSIX shell, unless it has only harmless characters. */
function quote(text: string): string {
  return /^[\w@.+:=/,%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
