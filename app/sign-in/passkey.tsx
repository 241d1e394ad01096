import { useEffect, useRef, useState } from 'react'
import { decodeBase64url, encodeBase64url } from '@/app/_ui/base64url'
import type { useForm } from '@/app/_ui/form'
import { abortPrompt, showPrompt } from '@/app/_ui/passkey-prompt'
import { post } from '@/app/_ui/post'
import type { Texts } from '@/lib/texts/en'
import { chooseNext } from './choose-next'

const renewalMs = 45 * 60_000 // a challenge is valid for an hour

/** What the page needs for passkeys. Null if they are switched off. */
export type PasskeySettings = {
  options: { challenge: string; rpId: string; timeout: number }
  paths: { options: string; signIn: string; offer: string }
  texts: Pick<Texts['passkey'], 'signIn' | 'prompt' | 'cancel'> & {
    problems: Texts['passkey']['signInProblems']
  }
}

type Properties = PasskeySettings & {
  form: ReturnType<typeof useForm>
  destination: string
  /** Whether the browser may suggest passkeys in the fields of the form. By default, it may. */
  suggests?: boolean
}

/**
 * The button that signs in with a passkey, in a browser that has them. Lets the browser
 * suggest passkeys in the fields of the form, too.
 */
export function Passkey(properties: Properties) {
  const { texts } = properties
  const { isAsking, problem, ask } = usePasskey(properties)

  return (
    <div className="passkey">
      {problem && (
        <p className="field-error" role="alert">
          {problem}
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
        <button type="button" className="link" onClick={abortPrompt}>
          {texts.cancel}
        </button>
      )}
    </div>
  )
}

/** Asks for a passkey, and signs in with it. */
export function usePasskey({
  form,
  options: first,
  paths,
  texts,
  destination,
  suggests = true,
}: Properties) {
  const [isAsking, setAsking] = useState(false)
  const [problem, setProblem] = useState('')
  const options = useRef(first)
  const isPrompting = useRef(false) // by the button, which autofill must not interrupt

  const show = (mediation?: 'conditional') => (signal: AbortSignal) =>
    navigator.credentials.get({
      ...(mediation && { mediation }),
      signal,
      publicKey: {
        ...options.current,
        challenge: decodeBase64url(options.current.challenge),
        userVerification: 'required',
      },
    })

  /** `cause`: the name of an error of the browser, or the code of a rejection. */
  const explain = (cause: string | undefined, otherwise: 'browser' | 'invalid') =>
    setProblem(
      texts.problems[cause as keyof typeof texts.problems] ?? texts.problems[otherwise],
    )

  // Errors are silent, whatever their kind: the user did not ask for anything.
  async function suggest(): Promise<void> {
    if (!suggests) return

    try {
      const isAvailable = await PublicKeyCredential.isConditionalMediationAvailable()
      if (isAvailable && !isPrompting.current)
        await signIn(await showPrompt(show('conditional')))
    } catch {}
  }

  async function ask(): Promise<void> {
    if (isAsking || form.pending) return
    setProblem('')
    setAsking(true)
    isPrompting.current = true

    try {
      const prompt = showPrompt(show(), options.current.timeout)
      const credential = await prompt.finally(() => {
        isPrompting.current = false
      })
      await signIn(credential)
    } catch (error) {
      const { name } = (error ?? {}) as Partial<Error>
      if (name !== 'AbortError') explain(name, 'browser')
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
      return location.replace(
        isOther ? await chooseNext(destination, `${paths.offer}?device&`) : destination,
      )
    }

    if (outcome?.kind === 'rejected') {
      const cause = outcome.issue?.code ?? outcome.code
      if (cause === 'unknown_passkey')
        PublicKeyCredential.signalUnknownCredential?.({
          rpId: options.current.rpId,
          credentialId: credential.id,
        }).catch(() => {})
      if (cause === 'CHALLENGE_INVALID') await renew()
      explain(cause, 'invalid')
    }
    suggest()
  }

  async function renew(): Promise<void> {
    const response = await fetch(paths.options, { cache: 'no-store' })
    options.current = (await response.json()).options ?? options.current
  }

  useEffect(() => {
    suggest()

    const renewAndSuggest = () => renew().then(suggest, suggest)
    const timer = setInterval(renewAndSuggest, renewalMs)
    const restore = ({ persisted }: PageTransitionEvent) => persisted && renewAndSuggest()
    addEventListener('pageshow', restore)
    return () => {
      abortPrompt()
      clearInterval(timer)
      removeEventListener('pageshow', restore)
    }
  }, [])

  return { isAsking, problem, ask }
}

const parts = ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'] as const

function encodeAssertion({ id, response }: PublicKeyCredential) {
  const assertion = response as AuthenticatorAssertionResponse
  const encoded = parts.map((part) => {
    const bytes = assertion[part]
    return [part, bytes ? encodeBase64url(bytes) : undefined]
  })
  return { id, ...Object.fromEntries(encoded) }
}
