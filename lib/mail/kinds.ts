import type { Texts } from '../page/texts/en'
import { newSecret } from '../secret'
import { env } from '../settings/env'
import { issueTokenOfMail, type MailClaim, recoveryCodesLeft } from './outbox'

/** A sentence with the time of a request, in two forms: with and without the device. */
export type WhenAndWhere = { plain: string; fromDevice: string }

/** The texts of a mail. Its link is between the paragraphs and the notes. */
export type MailContent = { subject: string; title: string; paragraphs: string[]; button: string; notes: string[] }

export type MailKind = {
  /** The delays after the first attempt, the second and so on. The last one repeats. */
  retryAfterSeconds: number[]
  /** The time after the request at which the mail is given up, because it is of no use any more. */
  lifetimeSeconds: number
  /** Returns the link, or null to send nothing. Called when the mail server waits for the content. */
  link: (claim: MailClaim) => Promise<string | null>
  /** Returns the number in the mail, if it has one: the outbox does not store it. */
  number?: (claim: MailClaim) => Promise<number>
  content: (texts: Texts['mail'], requested: (sentence: WhenAndWhere) => string, number?: number) => MailContent
}

const minute = 60
const hour = 60 * minute

const signInLink = async () => new URL(env().SIGN_IN_URL, env().PUBLIC_URL).href

/** The delays and the lifetime of a mail that the user waits for. */
const request = { retryAfterSeconds: [minute, 5 * minute, 15 * minute, 30 * minute], lifetimeSeconds: hour }
/** The delays, the lifetime and the link of a notice about a change of the account. */
const notice = {
  retryAfterSeconds: [...request.retryAfterSeconds, 2 * hour, 12 * hour],
  lifetimeSeconds: 24 * hour,
  link: async () => new URL(env().FORGOT_PASSWORD_URL ?? '/', env().PUBLIC_URL).href,
}

function secondFactorNotice(what: 'on' | 'off' | 'used' | 'codes') {
  return {
    ...notice,
    content: ({ secondFactor, changed }, requested, number) => ({
      ...secondFactor[what],
      button: secondFactor.button,
      paragraphs: [
        secondFactor[what].body.replace('{left}', String(number)),
        requested(changed.requested),
        secondFactor.notYou,
      ],
      notes: [secondFactor.support],
    }),
  } satisfies MailKind
}

/** Every kind of mail in the outbox. A new one is an entry here, and its texts in each language. */
export const mailKinds = {
  reset: {
    ...request,
    link: async (claim) => {
      const token = newSecret()
      return (await issueTokenOfMail(claim, token)) ? `${env().PUBLIC_URL}/reset-password?token=${token}` : null
    },
    content: ({ reset }, requested) => ({
      ...reset,
      paragraphs: [reset.body],
      notes: [reset.expiry, requested(reset.requested), reset.notYou],
    }),
  },
  'sign-in': {
    ...request,
    link: signInLink,
    content: ({ signIn }, requested) => ({
      ...signIn,
      paragraphs: [signIn.body],
      notes: [requested(signIn.requested), signIn.notYou],
    }),
  },
  'password-changed': {
    ...notice,
    content: ({ changed }, requested) => ({
      ...changed,
      paragraphs: [changed.body, requested(changed.requested), changed.notYou],
      notes: [changed.support],
    }),
  },
  'new-device': {
    ...notice,
    content: ({ newDevice }, requested) => ({
      ...newDevice,
      paragraphs: [newDevice.body, requested(newDevice.requested), newDevice.notYou],
      notes: [],
    }),
  },
  'email-changed': {
    ...notice,
    link: signInLink,
    content: ({ emailChanged, changed }, requested) => ({
      ...emailChanged,
      paragraphs: [emailChanged.body, emailChanged.next, requested(changed.requested)],
      notes: [emailChanged.support],
    }),
  },
  'second-factor-on': secondFactorNotice('on'),
  'second-factor-off': secondFactorNotice('off'),
  'recovery-code-used': { ...secondFactorNotice('used'), number: recoveryCodesLeft },
  'new-recovery-codes': secondFactorNotice('codes'),
} satisfies Record<string, MailKind>

export type MailKindName = keyof typeof mailKinds
