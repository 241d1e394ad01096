import { headers } from 'next/headers'
import { Address } from '@/app/_ui/address'
import type { IconName } from '@/app/_ui/icon'
import { NeedsScript } from '@/app/_ui/needs-script'
import { Reference } from '@/app/_ui/reference'
import { Actions, Screen } from '@/app/_ui/screen'
import * as routes from '@/lib/contract/routes'
import { nextDestination, signInPageUrl } from '@/lib/http/next-path'
import { cookieOf } from '@/lib/session/cookie'
import { env } from '@/lib/settings/env'
import { startPath } from '@/lib/sso/connection'
import { askOf } from '@/lib/sso/next-sign-in'
import { texts } from '@/lib/texts/language'
import earlyExchangeScript from '../../_ui/inline/early-exchange.inline.js?raw'
import { SsoLanding } from './sso-landing'

const icons: Partial<Record<string, IconName>> = {
  temporarily_unavailable: 'wait',
  unavailable: 'wait',
  server_error: 'wrong',
  response_invalid: 'wrong',
  other: 'wrong',
  attempt_invalid: 'chain',
}

/**
 * The landing page of a sign-in: `?code=…` or `?error=…`, optionally with `&next=…`. The
 * browser posts the code.
 */
export default async function SsoCallbackPage({
  searchParams,
}: PageProps<'/sso/callback'>) {
  const { code, error, next } = await searchParams
  const { app, language, shared, sso } = await texts()
  const { SIGN_IN_URL, DASHBOARD_URL, PUBLIC_URL } = env()

  const nextUrl = nextDestination(next, PUBLIC_URL, DASHBOARD_URL)
  const signInUrl = signInPageUrl(SIGN_IN_URL, nextUrl)
  const signIn = <Actions links={[[signInUrl, shared.signInAgain]]} />

  if (error !== undefined) {
    const reason = isKnown(error, sso.rejected) ? error : 'other'
    const { title, body } = sso.rejected[reason]
    const { address = null, connection = null } =
      error === 'no_access' ? askOf(await headers()) : {}
    const { as, elsewhere } = sso.rejected.no_access
    const [before, after] = as.split('{email}')

    return (
      <Screen app={app} title={title} icon={icons[reason] ?? 'lock'}>
        {address ? (
          <p>
            {before}
            <Address email={address} />
            {after}
          </p>
        ) : (
          <p>{body}</p>
        )}
        {connection ? (
          <Actions
            links={[
              [startPath(connection, nextUrl), shared.signInAgain],
              [signInUrl, elsewhere],
            ]}
          />
        ) : (
          signIn
        )}
        <Reference id="#" shared={shared} />
      </Screen>
    )
  }

  const { rejected: _, ...landingTexts } = sso
  const requestHeaders = await headers()
  const destination = nextUrl ?? DASHBOARD_URL

  return (
    <>
      <script
        nonce={requestHeaders.get('x-nonce') ?? undefined}
        data-path={routes.exchangeSsoCode.path}
        data-session-path={routes.getSession.path}
        data-destination={destination}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: earlyExchangeScript }}
      />
      <NeedsScript shared={shared} texts={sso} fallback={signIn}>
        <SsoLanding
          {...{ app, language, shared, destination }}
          texts={landingTexts}
          signInUrl={signInUrl}
          hasCode={code !== undefined}
          hasSession={cookieOf(requestHeaders, 'session') !== null}
        />
      </NeedsScript>
    </>
  )
}

/**
 * Whether an error is one of our codes. Other text in the URL may come from an attacker,
 * so it is never shown.
 */
function isKnown<Texts extends object>(
  error: unknown,
  known: Texts,
): error is keyof Texts & string {
  return typeof error === 'string' && Object.hasOwn(known, error)
}
