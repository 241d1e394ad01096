import { Address } from '@/app/_ui/address'
import { CodeField, codeProblem } from '@/app/_ui/code-field'
import { Form, type PageTexts, useForm } from '@/app/_ui/form'
import { post } from '@/app/_ui/post'
import type { Texts } from '@/lib/texts/en'
import { chooseNext } from './choose-next'
import type { PasskeySettings } from './passkey'
import { PasskeyButton } from './passkey-button'

type Properties = PageTexts & {
  texts: Texts['signIn'] & Texts['secondFactor']
  challenge: string
  email: string
  destination: string
  /** The path of the operation. */
  path: string
  /** The page that offers to create a passkey. Null without PASSKEYS. */
  offerPath: string | null
  /** Whether the user has an authenticator app. Otherwise, only recovery codes. */
  hasApp: boolean
  /** Null if the user has no passkey. */
  passkey: PasskeySettings | null
  anotherUrl: string
}

/** Asks for the second factor after the password was verified. */
export function SecondFactorForm(properties: Properties) {
  const { app, language, shared, texts, challenge, email, destination, anotherUrl } =
    properties
  const { offerPath, hasApp, passkey } = properties
  const form = useForm()

  async function submit(): Promise<void> {
    const { name, value } = form.input('code')!
    const missing = value.trim()
      ? null
      : ({ field: 'code', text: texts.empty.code } as const)
    const outcome = await form.send(missing, () =>
      post(properties.path, { challenge, [name]: value }),
    )

    if (outcome?.kind === 'done')
      return leave(
        offerPath ? await chooseNext(destination, `${offerPath}?`) : destination,
        null,
      )
    if (outcome?.kind !== 'rejected') return
    if (outcome.code === 'CHALLENGE_INVALID') return leave(makeExpiredUrl(), email)

    form.setProblem(codeProblem(outcome, texts))
  }

  return (
    <>
      <Form
        {...{ form, app, language, shared, texts }}
        title={texts.title}
        intro={
          <>
            <Address email={email} />
            {passkey && (
              <PasskeyButton {...passkey} {...{ form, destination }} suggests={false} />
            )}
          </>
        }
        submit={shared.signIn}
        action="/sign-in"
        scripts="data-needs-script"
        onSubmit={submit}
      >
        <CodeField
          {...{ form, texts }}
          prefix={shared.errorPrefix}
          first={hasApp ? 'code' : 'recoveryCode'}
          orRecoveryCode={hasApp}
        />
      </Form>
      <p className="note">
        <a href={anotherUrl}>{texts.another}</a>
      </p>
    </>
  )
}

/** Opens another page. An email address is kept for the form there. */
function leave(url: string, email: string | null): void {
  window.keep('email', email)

  // `replace` makes the Back button skip this page
  location.replace(url)
}

/** Returns the URL of the password step, which says that the second step has expired. */
function makeExpiredUrl(): string {
  return `/sign-in?step=password&error=expired${location.search.replace('?', '&')}`
}
