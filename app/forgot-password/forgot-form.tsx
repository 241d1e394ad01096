'use client'

import { EmailField, isAddress } from '@/app/_ui/email-field'
import { Form, type PageTexts, type Problem, useForm } from '@/app/_ui/form'
import { post } from '@/app/_ui/post'
import { cleanEmail } from '@/lib/contract/typed-text'
import type { Texts } from '@/lib/texts/en'

type Properties = PageTexts & {
  texts: Texts['forgot']
  sentNoAddress: boolean
  /** The paths of the form with scripts and without. */
  paths: { scripted: string; plain: string }
  /** The page that follows. */
  sentUrl: string
  /** Where the user goes after the sign-in. Null: to the dashboard. */
  next: string | null
}

/**
 * Asks for the email address. `sentNoAddress`: a form that was sent without scripts had
 * no valid address.
 */
export function ForgotForm(properties: Properties) {
  const { app, language, shared, texts, sentNoAddress, paths, next } = properties
  const noAddress = (): Problem => ({ field: 'email', text: texts.invalidEmail })
  const form = useForm(true, sentNoAddress ? noAddress() : null)

  async function submit(): Promise<void> {
    const email = cleanEmail(form.input('email')!.value)
    const outcome = await form.send(isAddress(email) ? null : noAddress(), () =>
      post(paths.scripted, { email }),
    )
    if (outcome?.kind === 'rejected') form.setProblem(noAddress())
    if (outcome?.kind !== 'done') return

    window.keep('email', email) // the next page shows it
    window.keep('asked', String(Date.now()))
    location.assign(properties.sentUrl)
  }

  return (
    <Form
      {...{ form, app, language, shared, texts }}
      action={paths.plain}
      title={texts.title}
      intro={<p>{texts.body}</p>}
      submit={texts.submit}
      onSubmit={submit}
    >
      {next && <input type="hidden" name="next" value={next} />}
      <EmailField
        label={texts.label}
        prefix={shared.errorPrefix}
        error={form.problem?.text}
        enterKeyHint="send"
      />
    </Form>
  )
}
