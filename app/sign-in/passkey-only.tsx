import { Address } from '@/app/_ui/address'
import { Form, type PageTexts, useForm } from '@/app/_ui/form'
import { abortPrompt } from '@/app/_ui/passkey-prompt'
import type { Texts } from '@/lib/texts/en'
import { type PasskeySettings, usePasskey } from './passkey'

type Properties = PageTexts & {
  texts: Texts['signIn'] & Texts['secondFactor']
  email: string
  passkey: PasskeySettings
  destination: string
  anotherUrl: string
}

/**
 * Asks for a passkey after the password was verified, if the user has nothing else and a
 * second factor is required.
 */
export function OnlyPasskey(properties: Properties) {
  const { app, language, shared, texts, email, passkey, anotherUrl } = properties
  const form = useForm()
  const { isAsking, problem, ask } = usePasskey({
    ...passkey,
    ...{ form, destination: properties.destination },
    suggests: false,
  })

  return (
    <>
      <Form
        {...{ form, app, language, shared, texts }}
        title={texts.title}
        intro={
          <>
            <p>
              <Address email={email} />
            </p>
            <p>{texts.passkeyOnly}</p>
          </>
        }
        submit={passkey.texts.signIn}
        action="/sign-in"
        scripts="data-needs-script"
        onSubmit={ask}
      >
        {problem && (
          <p className="field-error" role="alert">
            {problem}
          </p>
        )}
      </Form>
      <p className="note" role="status">
        {isAsking && <span>{passkey.texts.prompt}</span>}
      </p>
      <p className="note">
        {isAsking ? (
          <button type="button" className="link" onClick={abortPrompt}>
            {passkey.texts.cancel}
          </button>
        ) : (
          <a href={anotherUrl}>{texts.another}</a>
        )}
      </p>
    </>
  )
}
