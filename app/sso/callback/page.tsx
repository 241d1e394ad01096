import { headers } from 'next/headers'
import { Address } from '@/app/_ui/address'
import { Reference } from '@/app/_ui/reference'
import { Actions, type IconName, NeedsScript, Screen } from '@/app/_ui/screen'
import * as routes from '@/lib/contract/routes'
import { nextDestination, signInPageUrl } from '@/lib/http/next-path'
import { readCookie } from '@/lib/session/cookie'
import { env } from '@/lib/settings/env'
import { createStartPath } from '@/lib/sso/connection'
import { readAsk } from '@/lib/sso/next-sign-in'
import type { Texts } from '@/lib/texts/en'
import { texts } from '@/lib/texts/page-texts'
import earlyLeaveScript from '../../_ui/inline/early-leave.inline.js?raw'
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
  const { SIGN_IN_URL, DASHBOARD_URL, PUBLIC_URL } = env()
  const requestHeaders = await headers()

  const nextUrl = nextDestination(next, PUBLIC_URL, DASHBOARD_URL)
  const signInUrl = signInPageUrl(SIGN_IN_URL, nextUrl)
  const properties = { texts: await texts(), requestHeaders, nextUrl, signInUrl }

  if (error !== undefined) return <Rejection {...properties} error={error} />
  return <Landing {...properties} hasCode={code !== undefined} />
}

type Properties = {
  texts: Texts
  requestHeaders: Headers
  nextUrl: string | null
  signInUrl: string
}

/** Exchanges the code. */
function Landing({
  texts: { app, language, shared, sso },
  requestHeaders,
  nextUrl,
  signInUrl,
  hasCode,
}: Properties & { hasCode: boolean }) {
  const { rejected: _, ...landingTexts } = sso
  const destination = nextUrl ?? env().DASHBOARD_URL
  const paths = { exchange: routes.exchangeSsoCode.path, session: routes.getSession.path }

  return (
    <>
      <script
        nonce={requestHeaders.get('x-nonce') ?? undefined}
        data-session-path={paths.session}
        data-destination={destination}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: earlyLeaveScript }}
      />
      <NeedsScript
        shared={shared}
        texts={sso}
        fallback={<Actions links={[[signInUrl, shared.signInAgain]]} />}
      >
        <SsoLanding
          {...{ app, language, shared, paths, destination, signInUrl, hasCode }}
          texts={landingTexts}
          hasSession={readCookie(requestHeaders, 'session') !== null}
        />
      </NeedsScript>
    </>
  )
}

/** The provider, or this service, rejected the sign-in. */
function Rejection({
  texts: { app, shared, sso },
  requestHeaders,
  nextUrl,
  signInUrl,
  error,
}: Properties & { error: unknown }) {
  const reason = isKnown(error, sso.rejected) ? error : 'other'
  const { title, body } = sso.rejected[reason]
  const { address = null, connection = null } =
    error === 'no_access' ? readAsk(requestHeaders) : {}

  // The same connection first, because the user can choose another account there.
  const links: [url: string, label: string][] = connection
    ? [
        [createStartPath(connection, nextUrl), shared.signInAgain],
        [signInUrl, sso.rejected.no_access.elsewhere],
      ]
    : [[signInUrl, shared.signInAgain]]

  return (
    <Screen app={app} title={title} icon={icons[reason] ?? 'lock'}>
      {address ? (
        <NoAccess text={sso.rejected.no_access.as} address={address} />
      ) : (
        <p>{body}</p>
      )}
      <Actions links={links} />
      <Reference id="#" shared={shared} />
    </Screen>
  )
}

function NoAccess({ text, address }: { text: string; address: string }) {
  const [before, after] = text.split('{email}')
  return (
    <p>
      {before}
      <Address email={address} />
      {after}
    </p>
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
