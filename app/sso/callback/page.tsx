import { NeedsScript } from '@/app/needs-script'
import { Screen } from '@/app/screen'
import { env } from '@/lib/env'
import { texts } from '@/lib/language'
import { nextPath } from '@/lib/next-path'
import { SsoLanding } from './sso-landing'

/** Where a person comes back to from their identity provider: `?code=…`, or `?error=…`, and perhaps `&next=/…`. Only the browser exchanges the code: a GET consumes nothing. */
export default async function SsoCallbackPage({ searchParams }: PageProps<'/sso/callback'>) {
  const { code, error, next } = await searchParams
  const { app, language, shared, sso } = await texts()
  const { SIGN_IN_URL, DASHBOARD_URL, PUBLIC_URL } = env()

  if (error !== undefined) {
    const { title, body } = sso.refused[isKnown(error, sso.refused) ? error : 'other']
    return (
      <Screen app={app} title={title} sign="lock">
        <p>{body}</p>
        <div className="actions">
          <a className="button" href={SIGN_IN_URL}>
            {shared.signInAgain}
          </a>
        </div>
      </Screen>
    )
  }
  const { refused: _, ...words } = sso
  const destination = nextPath(next, PUBLIC_URL) ?? DASHBOARD_URL
  return (
    <NeedsScript shared={shared}>
      <SsoLanding {...{ app, language, shared, destination }} texts={words} signInUrl={SIGN_IN_URL} hasCode={code !== undefined} />
    </NeedsScript>
  )
}

/** What the provider adds in `error_description` is anybody's text, and is not shown. */
function isKnown<Words extends object>(error: unknown, words: Words): error is keyof Words & string {
  return typeof error === 'string' && Object.hasOwn(words, error)
}
