import { useState } from 'react'
import type { Outcome } from '@/app/_ui/post'
import type { Texts } from '@/lib/texts/en'
import { Field } from './field'
import type { Problem, useForm } from './form'

type Properties = {
  form: ReturnType<typeof useForm>
  texts: Texts['secondFactor']
  prefix: string
  orRecoveryCode?: boolean
  /** What the field asks for, at first if the user can choose. By default, a code. */
  first?: 'code' | 'recoveryCode'
}

/**
 * A field for a code of the authenticator app, or for a recovery code. `name` is the name
 * of the request field.
 */
export function CodeField({
  form,
  texts,
  prefix,
  orRecoveryCode,
  first = 'code',
}: Properties) {
  const [name, setName] = useState(first)
  const isCode = name === 'code'

  const exchange = () => {
    const field = form.input('code')!
    field.value = ''
    field.focus()
    form.setProblem(null)
    setName(isCode ? 'recoveryCode' : 'code')
  }

  return (
    <Field
      id="code"
      {...{ name, prefix, label: texts.names[name], hint: texts.hint[name] }}
      error={form.problem?.field === 'code' && form.problem.text}
      {...(isCode && ({ autoComplete: 'one-time-code', inputMode: 'numeric' } as const))}
      enterKeyHint="go"
    >
      {orRecoveryCode && (
        <button type="button" className="link" onClick={exchange}>
          {texts.instead[name]}
        </button>
      )}
    </Field>
  )
}

/**
 * Returns the error for a rejected code. If the sign-in has expired, the error asks for
 * the password again.
 */
export function codeProblem(
  outcome: Outcome & { kind: 'rejected' },
  texts: Texts['secondFactor'],
): Problem {
  const { code, issue } = outcome
  if (code === 'SECOND_FACTOR_LOCKED') return { field: 'code', text: texts.issues.locked }
  if (code !== 'SECOND_FACTOR_INVALID') return { field: 'password', text: texts.expired }

  const isRecoveryCode = issue?.path[0] === 'recoveryCode'
  const { used, wrong } = texts.issues[isRecoveryCode ? 'recoveryCode' : 'code']

  return { field: 'code', text: issue?.code === 'used_code' ? used : wrong }
}
