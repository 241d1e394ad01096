import { notFound } from 'next/navigation'
import { EmailField } from '@/app/_ui/email-field'
import { ErrorSummary } from '@/app/_ui/error-summary'
import { Screen } from '@/app/_ui/screen'
import { texts } from '@/lib/page/language'
import { env, sendsMail } from '@/lib/settings/env'

/**
 * Asks for the e-mail address, and says that a link was sent: the same for every address. A plain
 * form, without scripts. Without SMTP_URL, proxy.ts shows the 404 page in its place.
 */
export default async function ForgotPasswordPage({ searchParams }: PageProps<'/forgot-password'>) {
  if (!sendsMail()) notFound() // as for a path that proxy.ts did not recognise
  const { sent, invalid } = await searchParams
  const { app, forgot, shared } = await texts()
  if (sent !== undefined) {
    return (
      <Screen app={app} title={forgot.sent.title} icon="mail">
        <p>{forgot.sent.body}</p>
        <p>{forgot.sent.missing}</p>
        <div className="actions">
          <a className="button" href={env().SIGN_IN_URL}>
            {shared.signIn}
          </a>
          <a className="button quiet" href="/forgot-password">
            {forgot.sent.again}
          </a>
        </div>
      </Screen>
    )
  }
  const error = invalid !== undefined && forgot.invalid
  return (
    <>
      <title>{`${error ? forgot.errorPrefix : ''}${forgot.title} – ${app}`}</title>
      {error && (
        <ErrorSummary title={forgot.problem} field="email">
          {error}
        </ErrorSummary>
      )}
      <h1>{forgot.title}</h1>
      <p>{forgot.body}</p>
      <form className="reset-form" method="post" action="/forgot-password/send">
        <EmailField texts={forgot} error={error} />
        <button className="button wide" type="submit">
          {forgot.submit}
        </button>
      </form>
    </>
  )
}
