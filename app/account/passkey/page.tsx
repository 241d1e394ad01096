import { headers } from 'next/headers'
import { redirect } from 'next/navigation'
import { lookUp } from '@/app/look-up'
import { nextDestination } from '@/lib/http/next-path'
import { readCookie } from '@/lib/session/cookie'
import { findSession } from '@/lib/session/find'
import { env } from '@/lib/settings/env'
import { texts } from '@/lib/texts/page-texts'
import refusalScript from '../../_ui/inline/passkey-refusal.inline.js?raw'
import { AddPasskey, prepareRegistration } from '../add-passkey'

/**
 * Offers to create a passkey after a sign-in, and then goes on to `?next=`. `?device`: the
 * user has signed in with a passkey of another device. Redirects to `next` if there is
 * nothing to offer.
 */
export default async function PasskeyOffer({
  searchParams,
}: PageProps<'/account/passkey'>) {
  const { next, device } = await searchParams
  const { DASHBOARD_URL, PASSKEYS, PUBLIC_URL } = env()
  const destination = nextDestination(next, PUBLIC_URL, DASHBOARD_URL) ?? DASHBOARD_URL

  const requestHeaders = await headers()
  const token = readCookie(requestHeaders, 'session')
  const session = token && PASSKEYS ? await lookUp('a session', findSession(token)) : null
  if (!session) redirect(destination)

  const options = await prepareRegistration(requestHeaders)
  if (typeof options === 'string') redirect(destination)
  if (options.excludeCredentials.length > 0 && device === undefined) redirect(destination)

  const pageTexts = await texts()
  const { passkey } = pageTexts

  return (
    <>
      <script
        nonce={requestHeaders.get('x-nonce') ?? undefined}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: refusalScript }}
      />
      <AddPasskey
        {...{ texts: pageTexts, options }}
        email={session.email}
        title={passkey.offerTitle}
        intro={device === undefined ? passkey.what : passkey.otherDevice}
        doneUrl={destination}
        leave={{ url: destination, label: passkey.notNow }}
        isOffer
      />
    </>
  )
}
