import { useEffect, useRef, useState } from 'react'
import { decodeBase64url, encodeBase64url } from '@/app/_ui/base64url'
import type { useForm } from '@/app/_ui/form'
import { usePasskeyPrompt } from '@/app/_ui/passkey-prompt'
import { post } from '@/app/_ui/post'
import type { Texts } from '@/lib/texts/en'

const renewalMs = 45 * 60_000 // a challenge is valid for an hour
const offerPauseMs = 30 * 24 * 60 * 60_000
const maxOffers = 3

/** What the page needs for passkeys. Null if they are switched off. */
export type PasskeySettings = {
  options: { challenge: string; rpId: string; timeout: number }
  paths: { options: string; signIn: string; offer: string }
  texts: Pick<Texts['passkey'], 'signIn' | 'prompt' | 'cancel' | 'signInProblems'>
}

type Properties = PasskeySettings & {
  form: ReturnType<typeof useForm>
  destination: string
}

/**
 * The button that signs in with a passkey. Lets the browser suggest passkeys in the fields
 * of the form, too. Renders nothing in a browser without passkeys.
 */
export function Passkey(properties: Properties) {
  const { texts } = properties
  const { isSupported, isAsking, problem, ask, abort } = usePasskey(properties)
  if (!isSupported) return null

  return (
    <div className="passkey">
      {problem && (
        <p className="field-error" role="alert">
          {texts.signInProblems[problem]}
        </p>
      )}
      <button
        type="button"
        className="button quiet wide"
        aria-disabled={isAsking}
        onClick={ask}
      >
        {texts.signIn}
      </button>
      <p className="note" role="status">
        {isAsking && <span>{texts.prompt}</span>}
      </p>
      {isAsking && (
        <button type="button" className="link" onClick={abort}>
          {texts.cancel}
        </button>
      )}
    </div>
  )
}

type Problem = keyof Texts['passkey']['signInProblems']

function usePasskey({ form, options: first, paths, destination }: Properties) {
  const [isSupported, setSupported] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const options = useRef(first)
  const { prompt, abort } = usePasskeyPrompt()

  const show = (mediation?: 'conditional') => (signal: AbortSignal) => {
    const { challenge, ...others } = options.current
    return navigator.credentials.get({
      ...(mediation && { mediation }),
      signal,
      publicKey: {
        ...others,
        challenge: decodeBase64url(challenge),
        userVerification: 'required',
      },
    })
  }

  // Errors are silent, whatever their kind: the user did not ask for anything.
  async function suggest(): Promise<void> {
    try {
      if (await PublicKeyCredential.isConditionalMediationAvailable())
        await signIn(await prompt(show('conditional')))
    } catch {}
  }

  async function ask(): Promise<void> {
    if (isAsking || form.pending) return
    setProblem(null)
    setAsking(true)

    try {
      await signIn(await prompt(show(), options.current.timeout))
    } catch (error) {
      setProblem(nameProblem((error as Error | undefined)?.name))
      suggest()
    }
    setAsking(false)
  }

  async function signIn(credential: PublicKeyCredential): Promise<void> {
    const outcome = await form.send(null, () =>
      post(paths.signIn, { credential: encodeAssertion(credential) }),
    )
    if (outcome?.kind === 'done') {
      const isOther = credential.authenticatorAttachment === 'cross-platform'
      window.keep('email', null)
      return location.replace(await chooseNext(destination, paths.offer, isOther))
    }

    const cause =
      outcome?.kind === 'rejected' ? (outcome.issue?.code ?? outcome.code) : ''
    if (cause === 'CHALLENGE_INVALID') await renew()
    if (cause) setProblem(causes[cause] ?? 'invalid')
    if (cause === 'unknown_passkey')
      PublicKeyCredential.signalUnknownCredential?.({
        rpId: options.current.rpId,
        credentialId: credential.id,
      }).catch(() => {})
    suggest()
  }

  async function renew(): Promise<void> {
    try {
      const response = await fetch(paths.options, { cache: 'no-store' })
      const { options: renewed } = await response.json()
      if (renewed) options.current = renewed
    } catch {} // the server rejects the old challenge, and the page renews it again
  }

  useEffect(() => {
    if (!window.PublicKeyCredential) return
    setSupported(true)
    suggest()

    const renewAndSuggest = () => renew().then(suggest)
    const timer = setInterval(renewAndSuggest, renewalMs)
    const restore = ({ persisted }: PageTransitionEvent) => persisted && renewAndSuggest()
    addEventListener('pageshow', restore)
    return () => {
      abort()
      clearInterval(timer)
      removeEventListener('pageshow', restore)
    }
  }, [])

  return { isSupported, isAsking, problem, ask, abort }
}

/** The causes of a rejection that have a text of their own. */
const causes: Partial<Record<string, Problem>> = {
  CHALLENGE_INVALID: 'expired',
  unknown_passkey: 'removed',
  user_not_verified: 'unverified',
}

/** Returns what went wrong, by the name of the browser's error. Null after `abort`. */
function nameProblem(name: string | undefined): Problem | null {
  if (name === 'AbortError') return null
  if (name === 'NotAllowedError') return 'cancelled'
  return name === 'SecurityError' ? 'address' : 'browser'
}

function encodeAssertion({ id, response }: PublicKeyCredential) {
  const { clientDataJSON, authenticatorData, signature, userHandle } =
    response as AuthenticatorAssertionResponse
  return {
    id,
    clientDataJSON: encodeBase64url(clientDataJSON),
    authenticatorData: encodeBase64url(authenticatorData),
    signature: encodeBase64url(signature),
    ...(userHandle && { userHandle: encodeBase64url(userHandle) }),
  }
}

/**
 * Returns the page that offers to create a passkey, unless this browser can't create one
 * or the user has declined recently or three times. Otherwise, returns the destination.
 * `isOther`: whether the user has signed in with a passkey of another device.
 */
export async function chooseNext(
  destination: string,
  offerPath: string,
  isOther: boolean | null,
): Promise<string> {
  if (isOther === false) return destination

  try {
    const [times = 0, at = 0] = JSON.parse(localStorage.getItem('passkey-offer') ?? '[]')
    const isAllowed = times < maxOffers && Date.now() - at > offerPauseMs
    const isPossible =
      isAllowed &&
      (await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable())
    if (!isPossible) return destination
  } catch {
    return destination // no WebAuthn, or no storage
  }

  const parameters = new URLSearchParams({ next: destination })
  if (isOther) parameters.set('device', '')
  return `${offerPath}?${parameters}`
}
