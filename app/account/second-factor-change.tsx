'use client'

import { useState } from 'react'
import { CodeField, codeProblem } from '@/app/_ui/code-field'
import { Field } from '@/app/_ui/field'
import { Form, type PageTexts, useForm } from '@/app/_ui/form'
import { type Content, type Outcome, post } from '@/app/_ui/post'
import { UserName } from '@/app/_ui/user-name'
import type { Texts } from '@/lib/texts/en'
import { LostRecoveryCodes, NewSecret, RecoveryCodes } from './new-factor'

type Properties = PageTexts & {
  texts: Texts['secondFactor'] &
    Texts['account']['factor'] &
    Pick<Texts['account'], 'wrong' | 'current'> &
    Pick<Texts['reset'], 'account'>
  email: string
  change: Change
  /** The secret of an earlier visit to this page, in another tab or before a reload. */
  started: Content | null
  /** Whether the user has an authenticator app. Otherwise, only recovery codes. */
  hasApp: boolean
  /** Whether a passkey has just proved what the password and a code prove. */
  isProven: boolean
  /** What follows from the change, if there is more to say. */
  hint: string | null
  /** Where the user signs in with a passkey and returns. Null without a passkey. */
  passkeyUrl: string | null
  /** The paths of the operations. */
  paths: Record<Change | 'confirm', string>
}

type FormState = ReturnType<typeof useForm>

/** The name of a change, as in the query of the account page. */
export type Change = 'setUp' | 'newCodes' | 'switchOff'

/**
 * Changes the second factor of a user. To set it up, the user enters the password, then a
 * code of the new secret.
 */
export function SecondFactorChange(properties: Properties) {
  const { app, language, shared, texts, email, change } = properties
  const { hasApp, isProven, hint, passkeyUrl } = properties
  const { form, started, doneUrl, submit } = useChange(properties)
  const isProof = isProven && change !== 'setUp'

  if (started?.recoveryCodes?.length === 0)
    return <LostRecoveryCodes {...{ app, shared, texts }} />
  if (started?.recoveryCodes)
    return (
      <RecoveryCodes
        {...{ app, email, shared, texts, doneUrl, ...started }}
        done={texts.done[change as 'setUp' | 'newCodes']}
      />
    )

  return (
    <>
      <Form
        {...{ form, app, language, shared, texts }}
        title={texts.titles[change]}
        intro={
          <>
            {hint && <p>{hint}</p>}
            {isProof && <p>{texts.proven}</p>}
            {started && <NewSecret {...{ email, shared, texts }} {...started} />}
          </>
        }
        submit={change === 'setUp' ? shared.goOn : texts.actions[change]}
        action="/account"
        scripts="data-needs-script"
        onSubmit={submit}
      >
        {!started && !isProof && showPassword(form, properties)}
        {(started || change !== 'setUp') && !isProof && (
          <CodeField
            {...{ form, texts }}
            prefix={shared.errorPrefix}
            first={started || hasApp ? 'code' : 'recoveryCode'}
            orRecoveryCode={change === 'switchOff' && hasApp}
          />
        )}
      </Form>
      {passkeyUrl && !isProof && (
        <p className="note">
          <a href={passkeyUrl}>{texts.usePasskey}</a>
        </p>
      )}
      <p className="way-on">
        <a href="/account">{texts.cancel}</a>
      </p>
    </>
  )
}

/** The steps of a change. `started`: the response to the step of the password. */
function useChange({ texts, change, paths, started: startedBefore }: Properties) {
  const [started, setStarted] = useState(startedBefore)
  const form = useForm()
  const doneUrl = `/account?done=${change}`

  async function submit(): Promise<void> {
    const { username, ...given } = Object.fromEntries(new FormData(form.element.current!))

    const empty = Object.keys(given).find((name) => given[name] === '')
    const field = empty === 'password' ? 'password' : 'code'
    const path = paths[started ? 'confirm' : change]
    const outcome = await form.send(
      empty ? { field, text: texts.empty[field] } : null,
      () => post(path, { ...given, enrolment: started?.enrolment }),
    )

    if (outcome?.kind === 'rejected') return showRejection(outcome)
    if (outcome?.kind !== 'done') return
    if (change === 'switchOff') return location.replace(doneUrl)

    setStarted(outcome)
    form.setStep({ kind: 'ready' })
  }

  function showRejection(outcome: Outcome & { kind: 'rejected' }): void {
    const { code } = outcome

    // renews the session, or asks to sign in again, and returns to this change
    if (code === 'SESSION_INVALID' || code === 'SIGN_IN_AGAIN') {
      location.reload()
      return
    }

    // shows changes that another tab made
    if (code === 'SECOND_FACTOR_CONFLICT') {
      location.replace('/account')
      return
    }

    if (code === 'CHALLENGE_INVALID') setStarted(null)

    const isPassword = code === 'SIGN_IN_INVALID'
    form.setProblem(
      isPassword ? { field: 'password', text: texts.wrong } : codeProblem(outcome, texts),
    )
  }

  return { form, started, doneUrl, submit }
}

function showPassword({ problem }: FormState, { texts, shared, email }: Properties) {
  return (
    <>
      <UserName email={email} />
      <Field
        id="password"
        type="password"
        label={texts.current}
        prefix={shared.errorPrefix}
        error={problem?.field === 'password' && problem.text}
        enterKeyHint="go"
        autoComplete="current-password"
      />
    </>
  )
}
