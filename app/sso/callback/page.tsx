import { headers } from 'next/headers'
import { NeedsScript } from '@/app/_ui/needs-script'
import { Screen } from '@/app/_ui/screen'
import { paths } from '@/lib/contract/paths'
import { texts } from '@/lib/page/language'
import { nextPath } from '@/lib/page/next-path'
import { env } from '@/lib/settings/env'
import earlyExchangeScript from './early-exchange.js?raw'
import { SsoLanding } from './sso-landing'

/** Where a person comes back to from their identity provider: `?code=…`, or `?error=…`, and perhaps `&next=/…`. Only the browser exchanges the code: a GET consumes nothing. */
export default async function SsoCallbackPage({ searchParams }: PageProps<'/sso/callback'>) {
  const { code, error, next } = await searchParams
  const { app, language, shared, sso } = await texts()
  const { SIGN_IN_URL, DASHBOARD_URL, PUBLIC_URL } = env()

  const signIn = (
    <div className="actions">
      <a className="button" href={SIGN_IN_URL}>
        {shared.signInAgain}
      </a>
    </div>
  )
  if (error !== undefined) {
    const { title, body } = sso.rejected[isKnown(error, sso.rejected) ? error : 'other']
    return (
      <Screen app={app} title={title} icon="lock">
        <p>{body}</p>
        {signIn}
      </Screen>
    )
  }
  const { rejected: _, ...words } = sso
  const nonce = (await headers()).get('x-nonce') ?? undefined
  const destination = nextPath(next, PUBLIC_URL) ?? DASHBOARD_URL
  return (
    <>
      <script
        nonce={nonce}
        data-path={paths.exchangeSsoCode}
        data-destination={destination}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: earlyExchangeScript }}
      />
      <NeedsScript shared={shared} texts={sso} wayOn={signIn}>
        <SsoLanding
          {...{ app, language, shared, destination }}
          texts={words}
          signInUrl={SIGN_IN_URL}
          hasCode={code !== undefined}
        />
      </NeedsScript>
    </>
  )
}

/** What the provider adds in `error_description` is anybody's text, and is not shown. */
function isKnown<Words extends object>(error: unknown, words: Words): error is keyof Words & string {
  return typeof error === 'string' && Object.hasOwn(words, error)
}
