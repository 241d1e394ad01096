'use client'

import { Field } from '@/app/_ui/field'
import { PasswordField } from '@/app/_ui/password-field'
import { UserName } from '@/app/_ui/user-name'
import * as routes from '@/lib/contract/routes'
import type { Texts } from '@/lib/texts/en'

type Properties = {
  texts: Texts['passwordField'] & Pick<Texts['account'], 'current' | 'change'>
  /** `label`, `hint` and `minLength` are for the field of the new password. */
  label: string
  hint: string
  prefix: string
  email: string
  minLength: number
  /** The errors of the two fields. Null: no error. */
  errors: { current: string | null; password: string | null }
}

/**
 * The form that changes the password. It works without scripts, which only add a button
 * that shows the password.
 */
export function PasswordForm({
  texts,
  label,
  hint,
  prefix,
  email,
  minLength,
  errors,
}: Properties) {
  return (
    <form className="form" method="post" action={routes.updateAccount.path}>
      <UserName email={email} />
      <Field
        {...{ prefix }}
        id="current"
        label={texts.current}
        type="password"
        required
        error={errors.current}
        autoFocus={Boolean(errors.current)}
        autoComplete="current-password"
      />
      <PasswordField
        {...{ texts, label, hint, prefix }}
        error={errors.password}
        autoFocus={Boolean(errors.password)}
        pending={false}
        required
        autoComplete="new-password"
        {...{
          passwordrules: `minlength: ${minLength}; maxlength: 72; allowed: ascii-printable;`,
        }}
      />
      <button className="button wide" type="submit">
        {texts.change}
      </button>
    </form>
  )
}
