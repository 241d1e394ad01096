import { lifetimes } from '../contract/lifetimes'
import { startSso } from '../contract/routes'
import { newSecret } from '../crypto/token'
import { env } from '../settings/env'
import type { Texts } from '../texts/en'
import { findStart, issueTokenOfMail, type MailClaim, recoveryCodesLeft } from './claimed'

/**
 * The texts of an email. The link follows the paragraphs, and the notes follow the link.
 */
export type MailContent = {
  subject: string
  title: string
  paragraphs: string[]
  button: string
  notes: string[]
}

/**
 * The texts of a kind of email. Some kinds have more or fewer sentences than the email
 * about a new device.
 */
type KindTexts = Omit<Texts['mail']['newDevice'], 'notYou'> &
  Partial<Record<'next' | 'account' | 'expiry' | 'notYou' | 'support', string>>

export type MailKind = {
  /**
   * The delays after the first attempt, the second attempt and so on. The last delay
   * repeats.
   */
  retryAfterSeconds: number[]
  /** The time after the request at which the email is useless and is given up. */
  lifetimeSeconds: number
  /**
   * Returns the link, or null to send nothing. Called when the mail server waits for the
   * content.
   */
  link: (claim: MailClaim) => Promise<string | null>
  /**
   * Returns the number in the text of the email, if there is one. The outbox does not
   * store the number.
   */
  number?: (claim: MailClaim) => Promise<number>
  texts: (texts: Texts['mail']) => KindTexts
  /** The names of the texts before the link. `notes` are those after it. */
  paragraphs: (keyof KindTexts)[]
  notes: (keyof KindTexts)[]
}

const minute = 60
const hour = 60 * minute

const signInLink = async () => new URL(env().SIGN_IN_URL, env().PUBLIC_URL).href

/**
 * Returns the link to the start of the user's connection, if the sign-in page does not lead
 * there, or else the link to that page.
 */
async function startLink(claim: MailClaim): Promise<string> {
  const slug = await findStart(claim)
  if (slug === null) return signInLink()

  return env().PUBLIC_URL + startSso.path.replace('{connection}', slug)
}

/** Returns the link to choose a password, or null to send nothing. */
async function passwordLink(
  claim: MailClaim,
  lifetimeSeconds?: number,
): Promise<string | null> {
  const token = newSecret()
  return (await issueTokenOfMail(claim, token, lifetimeSeconds))
    ? `${env().PUBLIC_URL}/reset-password?token=${token}`
    : null
}

/** The common properties of emails that the user has requested. */
const request = {
  retryAfterSeconds: [minute, 5 * minute, 15 * minute, 30 * minute],
  lifetimeSeconds: hour,
  paragraphs: ['body', 'account'],
  notes: ['expiry', 'requested', 'notYou'],
} satisfies Partial<MailKind>
/** The common properties of notices about changes of the account. */
const notice = {
  retryAfterSeconds: [...request.retryAfterSeconds, 2 * hour, 12 * hour],
  lifetimeSeconds: 24 * hour,
  link: async () => new URL(env().FORGOT_PASSWORD_URL ?? '/', env().PUBLIC_URL).href,
  paragraphs: ['body', 'account', 'next', 'requested', 'notYou'],
  notes: ['support'],
} satisfies Partial<MailKind>
/**
 * The common properties of invitations, which an operator sends. Like notices, they are
 * useful for a day.
 */
const invitation = {
  ...request,
  retryAfterSeconds: notice.retryAfterSeconds,
  lifetimeSeconds: notice.lifetimeSeconds,
} satisfies Partial<MailKind>

const secondFactorNotice = (
  what: 'on' | 'off' | 'used' | 'codes' | 'guesses',
): MailKind => ({
  ...notice,
  texts: ({ secondFactor, changed: { requested } }) => ({
    ...secondFactor,
    ...secondFactor[what],
    requested,
  }),
})

const accountLink = async () => `${env().PUBLIC_URL}/account`

const passkeyNotice = (what: 'added' | 'removed' | 'newDevice'): MailKind => ({
  ...notice,
  link: accountLink,
  texts: ({ passkey, changed: { requested } }) => ({
    ...passkey,
    ...passkey[what],
    requested,
  }),
})

/**
 * Every kind of email in the outbox. A new kind needs an entry here, and its texts in
 * each language.
 */
export const mailKinds = {
  reset: {
    ...request,
    link: (claim) => passwordLink(claim),
    texts: ({ reset }) => reset,
  },
  'sign-in': { ...request, link: startLink, texts: ({ signIn }) => signIn },
  invitation: {
    ...invitation,
    link: (claim) => passwordLink(claim, lifetimes.invitation),
    texts: ({ invitation }) => ({ ...invitation, ...invitation.password }),
  },
  'sso-invitation': {
    ...invitation,
    link: startLink,
    texts: ({ invitation }) => ({ ...invitation, ...invitation.sso }),
  },
  'password-changed': { ...notice, texts: ({ changed }) => changed },
  'new-device': { ...notice, texts: ({ newDevice }) => newDevice },
  'new-device-passkey': passkeyNotice('newDevice'),
  'passkey-added': passkeyNotice('added'),
  'passkey-removed': passkeyNotice('removed'),
  'email-changed': {
    ...notice,
    link: signInLink,
    texts: ({ emailChanged, changed: { requested } }) => ({ ...emailChanged, requested }),
    // without the address: a reader of the old mailbox need not know the new one
    paragraphs: notice.paragraphs.filter((name) => name !== 'account'),
  },
  'operator-sign-in': {
    ...notice,
    link: accountLink,
    texts: ({ operatorSignIn }) => operatorSignIn,
  },
  'second-factor-on': secondFactorNotice('on'),
  'second-factor-off': secondFactorNotice('off'),
  'recovery-code-used': { ...secondFactorNotice('used'), number: recoveryCodesLeft },
  'new-recovery-codes': secondFactorNotice('codes'),
  'second-factor-guesses': secondFactorNotice('guesses'),
} satisfies Record<string, MailKind>

export type MailKindName = keyof typeof mailKinds
