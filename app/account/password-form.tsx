'use client'

import { Field } from '@/app/_ui/field'
import { Form, type PageTexts, type Problem, useForm } from '@/app/_ui/form'
import {
  checkNewPassword,
  describeIssue,
  NewPasswordField,
} from '@/app/_ui/new-password-field'
import { type Outcome, post } from '@/app/_ui/post'
import { UserName } from '@/app/_ui/user-name'
import type { Texts } from '@/lib/texts/en'

type Properties = PageTexts & {
  texts: Pick<Texts['account'], 'title' | 'password' | 'current' | 'change' | 'wrong'> &
    Pick<Texts, 'passwordField' | 'reset'> & { emptyCurrent: string }
  messages: React.ComponentProps<typeof Form>['texts']
  /** The title of the browser tab. */
  tab: string
  email: string
  minLength: number
  /** The paths of the form with scripts and without. */
  paths: { scripted: string; plain: string }
  /** The error of a form that was sent without scripts. */
  rejection: Problem | null
}

/** The form that changes the password. It works without scripts, too. */
export function PasswordForm(properties: Properties) {
  const { app, language, shared, texts, tab, email, minLength, rejection } = properties
  const form = useForm(true, rejection)
  const submit = useChange(form, properties)

  const wrong = form.problem?.field === 'current' ? form.problem : null

  return (
    <Form
      {...{ form, app, language, shared }}
      texts={properties.messages}
      title={texts.password}
      tab={form.problem ? texts.title : tab}
      heading="h2"
      submit={texts.change}
      action={properties.paths.plain}
      scripts="data-prefers-script"
      onSubmit={submit}
    >
      <UserName email={email} />
      <Field
        id="current"
        type="password"
        label={texts.current}
        prefix={shared.errorPrefix}
        error={wrong?.text}
        autoFocus={Boolean(wrong)}
        readOnly={form.pending}
        enterKeyHint="next"
        autoComplete="current-password"
      />
      <NewPasswordField
        {...{ minLength, app, email, language }}
        texts={{ ...texts.reset, ...texts.passwordField }}
        prefix={shared.errorPrefix}
        problem={form.problem}
        pending={form.pending}
      />
    </Form>
  )
}

/** Returns the function that sends the form. */
function useChange(
  form: ReturnType<typeof useForm>,
  { app, email, minLength, paths, texts }: Properties,
) {
  async function submit(): Promise<void> {
    const currentPassword = form.input('current')!.value
    const password = form.input('password')!.value
    const outcome = await form.send(findWrong(currentPassword, password), () =>
      post(paths.scripted, { currentPassword, password }),
    )

    if (outcome?.kind === 'rejected') return showRejection(outcome, password)
    if (outcome?.kind === 'done') location.replace('/account?done=changed')
  }

  function findWrong(currentPassword: string, password: string): Problem | null {
    if (!currentPassword) return { field: 'current', text: texts.emptyCurrent }

    return checkNewPassword(password, minLength, texts.reset)
  }

  function showRejection(
    { code, issue }: Outcome & { kind: 'rejected' },
    password: string,
  ): void {
    // The JWT may have expired, which the form without scripts accepts.
    if (code === 'SESSION_INVALID') {
      form.element.current!.submit()
      return
    }

    if (issue?.path[0] !== 'password') {
      form.setProblem({ field: 'current', text: texts.wrong })
      return
    }

    form.setProblem(describeIssue(issue, texts.reset, password, `${email} ${app}`))
  }

  return submit
}
