'use client'

import { PasswordField } from '@/app/_ui/password-field'
import type { Texts } from '@/lib/page/texts/en'

type Properties = {
  texts: React.ComponentProps<typeof PasswordField>['texts'] & Pick<Texts['account'], 'current' | 'change'>
  email: string
  minLength: number
  /** What is wrong with a field, by its name. */
  errors: { current: string | null; password: string | null }
}

/** Replaces the password. A plain form: scripts only reveal what is typed. */
export function PasswordForm({ texts, email, minLength, errors }: Properties) {
  return (
    <form className="reset-form" method="post" action="/account/update">
      <input type="text" name="username" autoComplete="username" value={email} hidden readOnly />
      <div className={errors.current ? 'field invalid' : 'field'}>
        <label htmlFor="current">{texts.current}</label>
        {errors.current && (
          <p id="current-error" className="field-error">
            <span className="visually-hidden">{texts.errorPrefix}</span>
            <span>{errors.current}</span>
          </p>
        )}
        <div className="input">
          <input
            id="current"
            name="current"
            type="password"
            required
            autoComplete="current-password"
            aria-describedby="current-error" // if it exists
            aria-invalid={errors.current ? true : undefined}
          />
        </div>
      </div>
      <PasswordField
        texts={texts}
        error={errors.password}
        pending={false}
        required
        autoComplete="new-password"
        {...{ passwordrules: `minlength: ${minLength}; maxlength: 72; allowed: ascii-printable;` }}
      />
      <button className="button wide" type="submit">
        {texts.change}
      </button>
    </form>
  )
}
