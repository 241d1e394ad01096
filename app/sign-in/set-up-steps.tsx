import { useEffect, useState } from 'react'
import { Address } from '@/app/_ui/address'
import { CodeField, codeProblem } from '@/app/_ui/code-field'
import { Form, type PageTexts, useForm } from '@/app/_ui/form'
import { type Content, post } from '@/app/_ui/post'
import type { Texts } from '@/lib/texts/en'
import { LostRecoveryCodes, NewSecret, RecoveryCodes } from '../account/new-factor'
import { PasskeyAdd } from '../account/passkey-add'

type Properties = PageTexts & {
  texts: Pick<Texts, 'signIn' | 'secondFactor' | 'passkey'> & {
    factor: Texts['account']['factor'] & Pick<Texts['reset'], 'account'>
  }
  /** The challenge of the sign-in. */
  challenge: string
  email: string
  /** What the browser needs to create a passkey. Null without PASSKEYS. */
  registration: React.ComponentProps<typeof PasskeyAdd>['options'] | null
  /** The response to the latest step of an app, at first before a reload or in another tab. */
  started: Content | null
  paths: Record<'start' | 'confirm' | 'options' | 'add', string>
  destination: string
  anotherUrl: string
}

/**
 * Sets up a second factor after the password was verified: a passkey, if the browser has
 * passkeys, or an authenticator app.
 */
export function SetUpSteps(properties: Properties) {
  const { texts, anotherUrl } = properties
  const [started, setStarted] = useState(properties.started)
  const [registration, setRegistration] = useState(properties.registration)
  const [way, setWay] = useState<Way>(started ? 'app' : 'passkey')
  const [isChosen, setChosen] = useState(false)

  const choose = (chosen: Way) => {
    setWay(chosen)
    setChosen(true)
  }

  useEffect(() => {
    if (!window.PublicKeyCredential) setRegistration(null)
  }, [])

  const another = (
    <p className="note">
      <a href={anotherUrl}>{texts.signIn.another}</a>
    </p>
  )

  return way === 'passkey' && registration ? (
    <NewPasskey
      {...{ ...properties, another }}
      options={registration}
      leave={() => choose('app')}
    />
  ) : (
    <NewApp
      {...{ ...properties, another, isChosen, started, setStarted }}
      leave={registration ? () => choose('passkey') : null}
    />
  )
}

type Way = 'passkey' | 'app'

function NewPasskey({
  options,
  leave,
  another,
  ...properties
}: Properties & {
  options: NonNullable<Properties['registration']>
  leave: () => void
  /** The link to another account. */
  another: React.ReactNode
}) {
  const { app, language, shared, texts, paths } = properties
  const { challenge, email, destination } = properties
  const { setUp } = texts.secondFactor

  return (
    <PasskeyAdd
      {...{ app, language, shared, challenge, email, options }}
      texts={{ ...texts.factor, ...texts.passkey, unknown: texts.signIn.unknown }}
      factorTexts={texts.factor}
      title={setUp.title}
      intro={
        <>
          <p>
            <Address email={email} />
          </p>
          <p>{`${setUp.body} ${texts.passkey.what}`}</p>
        </>
      }
      paths={{ ...paths, signIn: makeExpiredUrl() }}
      doneUrl={destination}
      leave={{ label: setUp.app, act: leave }}
      after={another}
      isOffer={false}
    />
  )
}

type AppProperties = Properties & {
  /** Keeps the response to the latest step while the user looks at the other way. */
  setStarted: (started: Content) => void
  /** Whether the user has chosen the app, so that its secret is requested at once. */
  isChosen: boolean
  /** Chooses a passkey instead. Null without PASSKEYS. */
  leave: (() => void) | null
  /** The link to another account. */
  another: React.ReactNode
}

function NewApp(properties: AppProperties) {
  const { app, language, shared, texts, email, destination, started, leave } = properties
  const { form, submit } = useApp(properties)
  const { setUp } = texts.secondFactor
  const recoveryCodes = started?.recoveryCodes

  if (recoveryCodes?.length === 0)
    return (
      <LostRecoveryCodes
        {...{ app, shared }}
        texts={texts.factor}
        nextUrl={destination}
      />
    )
  if (recoveryCodes)
    return (
      <RecoveryCodes
        {...{ app, email, shared, recoveryCodes }}
        texts={texts.factor}
        done={texts.factor.done.setUp}
        doneUrl={destination}
      />
    )

  return (
    <>
      <Form
        {...{ form, app, language, shared }}
        texts={{ ...texts.factor, unknown: texts.signIn.unknown }}
        title={started ? texts.factor.titles.setUp : setUp.title}
        intro={
          started ? (
            <NewSecret {...{ email, shared }} texts={texts.factor} {...started} />
          ) : (
            <>
              <p>
                <Address email={email} />
              </p>
              <p>{`${setUp.body} ${setUp.appBody}`}</p>
            </>
          )
        }
        submit={started ? shared.goOn : setUp.app}
        action="/sign-in"
        scripts="data-needs-script"
        onSubmit={submit}
      >
        {started && (
          <CodeField
            {...{ form }}
            texts={texts.secondFactor}
            prefix={shared.errorPrefix}
          />
        )}
      </Form>
      {leave && (
        <p className="way-on">
          <button type="button" className="button quiet wide" onClick={leave}>
            {setUp.instead}
          </button>
        </p>
      )}
      {properties.another}
    </>
  )
}

/** The steps of an authenticator app. */
function useApp(properties: AppProperties) {
  const { texts, challenge, email, paths, isChosen, started, setStarted } = properties
  const form = useForm()

  async function submit(): Promise<void> {
    const code = form.input('code')?.value ?? ''
    const { empty } = texts.secondFactor
    const missing =
      started && !code.trim() ? ({ field: 'code', text: empty.code } as const) : null
    const outcome = await form.send(missing, () =>
      started
        ? post(paths.confirm, { challenge, enrolment: started.enrolment, code })
        : post(paths.start, { challenge }),
    )

    if (outcome?.kind === 'done') {
      setStarted(outcome)
      form.setStep({ kind: 'ready' })
    }
    if (outcome?.kind !== 'rejected') return

    if (outcome.code === 'CHALLENGE_INVALID') {
      window.keep('email', email)
      return location.replace(makeExpiredUrl())
    }
    form.setProblem(codeProblem(outcome, texts.secondFactor))
  }

  useEffect(() => {
    if (isChosen && !started) submit()
  }, [])

  return { form, submit }
}

/** Returns the URL of the password step, which says that the second step has expired. */
function makeExpiredUrl(): string {
  const query = typeof location === 'undefined' ? '' : location.search
  return `/sign-in?step=password&error=expired${query.replace('?', '&')}`
}
