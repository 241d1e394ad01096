import { headers } from 'next/headers'
import { notFound } from 'next/navigation'
import type { PageTexts } from '@/app/_ui/form'
import { Screen } from '@/app/_ui/screen'
import * as routes from '@/lib/contract/routes'
import {
  forgotPasswordPageUrl,
  nextDestination,
  signInPageUrl,
} from '@/lib/http/next-path'
import { env, sendsMail } from '@/lib/settings/env'
import type { Texts } from '@/lib/texts/en'
import { texts } from '@/lib/texts/page-texts'
import openMailScript from '../_ui/inline/open-mail.inline.js?raw'
import { AskAgain } from './ask-again'
import { ForgotForm } from './forgot-form'

/**
 * Asks for the email address. Then shows the same confirmation for every address. Works
 * without scripts.
 */
export default async function ForgotPasswordPage({
  searchParams,
}: PageProps<'/forgot-password'>) {
  // for a spelling of the path that app/_proxy did not recognize
  if (!sendsMail()) notFound()

  const { sent, invalid, next: wanted } = await searchParams
  const { app, language, forgot, shared } = await texts()
  const next = nextDestination(wanted, env().PUBLIC_URL, env().DASHBOARD_URL)

  if (sent !== undefined)
    return <Sent {...{ app, language, shared, next }} texts={forgot.sent} />

  return (
    <ForgotForm
      {...{ app, language, shared, next }}
      texts={forgot}
      sentNoAddress={invalid !== undefined}
      paths={{ scripted: routes.forgotPassword.path, plain: routes.sendResetLink.path }}
      sentUrl={forgotPasswordPageUrl('/forgot-password', next, 'sent')}
    />
  )
}

/** The confirmation, with a link to ask again. */
async function Sent({
  app,
  language,
  shared,
  texts: { title, body, address, missing, open, again, waiting, waited },
  next,
}: PageTexts & { texts: Texts['forgot']['sent']; next: string | null }) {
  const [before, after] = body.split('{email}')

  return (
    <Screen app={app} title={title} icon="mail">
      <p>
        {before}
        {/* kept-email.inline.js inserts the address, which is not part of the request. */}
        <strong id="kept-email" className="account" suppressHydrationWarning>
          {address}
        </strong>
        {after}
      </p>
      <p>{missing}</p>
      <AskAgain
        {...{ language, again }}
        shared={{ ...shared, waiting, waited }}
        formUrl={forgotPasswordPageUrl('/forgot-password', next)}
      >
        {/* open-mail.inline.js shows it, if it knows where the address has its email. */}
        <a id="open-mail" className="button" hidden suppressHydrationWarning>
          {open}
        </a>
        <a className="button quiet" href={signInPageUrl(env().SIGN_IN_URL, next)}>
          {shared.signIn}
        </a>
      </AskAgain>
      <script
        nonce={(await headers()).get('x-nonce') ?? undefined}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: openMailScript }}
      />
    </Screen>
  )
}
