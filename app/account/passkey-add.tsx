'use client'

import { useRef, useState } from 'react'
import { decodeBase64url, encodeBase64url } from '@/app/_ui/base64url'
import { Form, type PageTexts, useForm } from '@/app/_ui/form'
import { abortPrompt, showPrompt } from '@/app/_ui/passkey-prompt'
import { type Outcome, post } from '@/app/_ui/post'
import type { Texts } from '@/lib/texts/en'
import { LostRecoveryCodes, RecoveryCodes } from './new-factor'

const renewalMs = 8 * 60_000 // a challenge is valid for ten minutes

/** The options of the server, which JSON can't have as bytes. */
type Options = {
  challenge: string
  user: { id: string; name: string; displayName: string }
  excludeCredentials: { type: 'public-key'; id: string; transports: string[] }[]
  timeout: number
} & Pick<
  PublicKeyCredentialCreationOptions,
  'rp' | 'pubKeyCredParams' | 'authenticatorSelection' | 'attestation'
>

type Properties = PageTexts & {
  texts: Texts['passkey'] & Pick<Texts['account']['factor'], Banner>
  /** Those of recovery codes, which the first required factor has. */
  factorTexts: Texts['account']['factor']
  email: string
  title: string
  intro: React.ReactNode
  options: Options
  /** `signIn`: where the user starts again. */
  paths: { options: string; add: string; signIn: string }
  /** The challenge of a sign-in that needs a second factor, instead of a session. */
  challenge?: string
  /** Where the user goes when the passkey was added, and the link of the page. */
  doneUrl: string
  leave: { label: string } & ({ url: string } | { act: () => void })
  /** What follows the form, but not the recovery codes. */
  after?: React.ReactNode
  /** Whether the page offers a passkey that the user did not ask for. */
  isOffer: boolean
}

/** The texts that both kinds of factors share. */
type Banner = 'sending' | 'limited' | 'unavailable' | 'failed'

/** Creates a passkey and stores it. */
export function PasskeyAdd(properties: Properties) {
  const { app, language, shared, texts, title, intro } = properties
  const { email, factorTexts, doneUrl, challenge } = properties
  const { form, problem, isAsking, create, recoveryCodes } = useCreation(properties)

  if (recoveryCodes?.length === 0)
    return (
      <LostRecoveryCodes
        {...{ app, shared }}
        texts={factorTexts}
        nextUrl={challenge && doneUrl}
      />
    )
  if (recoveryCodes)
    return (
      <RecoveryCodes
        {...{ app, email, shared, recoveryCodes, doneUrl }}
        texts={factorTexts}
        done={factorTexts.done.passkey}
      />
    )

  return (
    <>
      <Form
        {...{ form, app, language, shared, title }}
        texts={texts}
        {...{ intro }}
        submit={texts.create}
        action="/account"
        scripts="data-needs-script"
        onSubmit={create}
      >
        {problem && (
          <p className={problem === 'exists' ? 'success' : 'field-error'} role="alert">
            {problem === 'exists' ? texts.exists : texts.addProblems[problem]}
          </p>
        )}
      </Form>
      <p className="note" role="status">
        {isAsking && <span>{texts.prompt}</span>}
      </p>
      <p className="way-on">
        {isAsking ? (
          <button type="button" className="link" onClick={abortPrompt}>
            {texts.cancel}
          </button>
        ) : (
          showOtherWay(properties)
        )}
      </p>
      {properties.after}
    </>
  )
}

function showOtherWay({ leave, isOffer }: Properties) {
  if ('act' in leave)
    return (
      <button type="button" className="button quiet wide" onClick={leave.act}>
        {leave.label}
      </button>
    )

  return (
    // passkey-refusal.inline.js handles the click
    <a href={leave.url} id={isOffer ? 'not-now' : undefined}>
      {leave.label}
    </a>
  )
}

type Problem = keyof Texts['passkey']['addProblems'] | 'exists'

function useCreation(properties: Properties) {
  const { options: first, paths, doneUrl, challenge, email } = properties
  const form = useForm()
  const [recoveryCodes, setRecoveryCodes] = useState<string[]>()
  const [isAsking, setAsking] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const options = useRef(first)
  const issuedAt = useRef(Date.now())
  /** The passkey whose request has no clear outcome. Another one could replace it. */
  const unsettled = useRef<PublicKeyCredential>(undefined)

  const show = (signal: AbortSignal) =>
    navigator.credentials.create({ signal, publicKey: decodeOptions(options.current) })

  async function create(): Promise<void> {
    if (isAsking || form.pending) return
    setProblem(null)
    setAsking(true)

    try {
      await add(unsettled.current ?? (await ask()))
    } catch (error) {
      setProblem(nameProblem((error as Error | undefined)?.name))
    }
    setAsking(false)
  }

  async function ask(): Promise<PublicKeyCredential> {
    // before the prompt: the device would keep a passkey that the server rejects
    if (Date.now() - issuedAt.current > renewalMs) await renew()

    return showPrompt(show, options.current.timeout)
  }

  async function add(credential: PublicKeyCredential): Promise<void> {
    unsettled.current = credential
    const outcome = await form.send(null, () =>
      post(paths.add, { credential: encodeRegistration(credential), challenge }),
    )
    if (outcome?.kind === 'done') {
      if (!outcome.recoveryCodes) return location.replace(doneUrl)
      return setRecoveryCodes(outcome.recoveryCodes)
    }
    if (outcome?.kind !== 'rejected') return

    unsettled.current = undefined
    if (outcome.code === 'SIGN_IN_AGAIN') return startAgain()
    if (outcome.code === 'CHALLENGE_INVALID') await renew()
    setProblem(nameRejection(outcome))
  }

  async function renew(): Promise<void> {
    const response = await window.sendJson(paths.options, { challenge }).response
    const { options: renewed, code } = await response.json()
    if (code === 'SIGN_IN_AGAIN' || code === 'CHALLENGE_INVALID') return startAgain()
    if (!renewed) return

    options.current = renewed
    issuedAt.current = Date.now()
  }

  function startAgain(): void {
    if (challenge) window.keep('email', email)
    location.replace(paths.signIn)
  }

  return { form, problem, isAsking, create, recoveryCodes }
}

/** Returns what went wrong, by the name of the browser's error. Null after `abort`. */
function nameProblem(name: string | undefined): Problem | null {
  const problems: Record<string, Problem> = {
    NotAllowedError: 'cancelled',
    InvalidStateError: 'exists',
    ConstraintError: 'unsupported',
    NotSupportedError: 'unsupported',
    SecurityError: 'address',
  }
  if (name === 'AbortError') return null
  return (name && problems[name]) || 'browser'
}

function nameRejection({ code, issue }: Outcome & { kind: 'rejected' }): Problem {
  if (code === 'CHALLENGE_INVALID') return 'expired'
  if (code === 'PASSKEY_CONFLICT') return 'conflict'
  return issue?.code === 'user_not_verified' ? 'unverified' : 'invalid'
}

function decodeOptions(options: Options): PublicKeyCredentialCreationOptions {
  const { challenge, user, excludeCredentials, ...others } = options
  return {
    ...others,
    challenge: decodeBase64url(challenge),
    user: { ...user, id: decodeBase64url(user.id) },
    excludeCredentials: excludeCredentials.map(({ id, transports, type }) => ({
      type,
      id: decodeBase64url(id),
      transports: transports as AuthenticatorTransport[],
    })),
  }
}

function encodeRegistration({ id, response }: PublicKeyCredential) {
  const attested = response as AuthenticatorAttestationResponse
  return {
    id,
    clientDataJSON: encodeBase64url(attested.clientDataJSON),
    attestationObject: encodeBase64url(attested.attestationObject),
    transports: attested.getTransports?.() ?? [], // some extensions lack it
  }
}
