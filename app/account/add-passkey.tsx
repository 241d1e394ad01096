import { Actions, NeedsScript, Screen } from '@/app/_ui/screen'
import { lookUp } from '@/app/look-up'
import { ApiError } from '@/lib/contract/errors'
import * as routes from '@/lib/contract/routes'
import type { startRegistration } from '@/lib/passkey/add'
import { requireFreshSession } from '@/lib/session/fresh'
import type { Texts } from '@/lib/texts/en'
import { PasskeyStep } from './passkey-step'

type Registration = Awaited<ReturnType<typeof startRegistration>>

/**
 * Returns what the browser needs to create a passkey, or the code of the error: the user
 * has to sign in again, or can't add a passkey.
 */
export async function prepareRegistration(
  headers: Headers,
): Promise<Registration['options'] | string> {
  const prepare = async () => {
    const { startRegistration } = await import('@/lib/passkey/add')
    const { options } = await startRegistration(await requireFreshSession(headers))
    return options
  }
  const withCode = prepare().catch((error) => {
    if (error instanceof ApiError && error.code !== 'SERVICE_UNAVAILABLE')
      return error.code
    throw error
  })

  return lookUp('a registration', withCode)
}

/** Returns the URL of the sign-in after which a signed-in user returns to `next`. */
export function signInAgainUrl(next: string): string {
  return `/sign-in?${new URLSearchParams({ step: 'password', next })}`
}

/** The page that creates a passkey. */
export function AddPasskey({
  texts: { app, account, language, passkey, shared },
  options,
  email,
  title = passkey.addTitle,
  intro = passkey.what,
  doneUrl = '/account?done=passkeyAdded',
  leave = { url: '/account', label: passkey.cancel },
  isOffer = false,
}: {
  texts: Texts
  options: Registration['options']
  email: string
} & Partial<
  Pick<React.ComponentProps<typeof PasskeyStep>, 'title' | 'doneUrl' | 'isOffer'> & {
    intro: string
    leave: { url: string; label: string }
  }
>) {
  return (
    <NeedsScript
      shared={shared}
      texts={account.factor}
      fallback={isOffer ? <Actions links={[[leave.url, shared.goOn]]} /> : undefined}
    >
      <PasskeyStep
        {...{ app, language, shared, email, title, options }}
        {...{ doneUrl, leave, isOffer }}
        intro={<p>{intro}</p>}
        texts={{ ...account.factor, ...passkey }}
        factorTexts={account.factor}
        paths={{
          options: routes.startPasskey.path,
          add: routes.addPasskey.path,
          signIn: signInAgainUrl('/account?change=addPasskey'),
        }}
      />
    </NeedsScript>
  )
}

/** What a user sees who has signed in too long ago for a change. */
export function SignInAgain({
  texts,
  title = texts.passkey.addTitle,
  next = '/account?change=addPasskey',
}: {
  texts: Texts
  title?: string
  next?: string
}) {
  const { app, passkey } = texts
  return (
    <Screen app={app} title={title} icon="lock">
      <p>{passkey.againBody}</p>
      <Actions
        links={[
          [signInAgainUrl(next), passkey.again],
          ['/account', passkey.back],
        ]}
      />
    </Screen>
  )
}
