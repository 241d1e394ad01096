import * as paths from '@/lib/contract/paths'
import type { Texts } from '@/lib/page/texts/en'

type Properties = { app: string; title: string; texts: Texts['signIn']; next: string | null; error?: string }

/** Asks for the e-mail address, whose domain names the identity provider. */
export function EmailForm({ app, title, texts, next, error }: Properties) {
  return (
    <>
      <title>{`${error ? texts.errorPrefix : ''}${title} – ${app}`}</title>
      <h1>{title}</h1>
      <p>{texts.body}</p>
      <form method="post" action={paths.findSsoConnection}>
        {next && <input type="hidden" name="next" value={next} />}
        <div className={error ? 'field invalid' : 'field'}>
          <label htmlFor="email">{texts.label}</label>
          {error && (
            <p id="email-error" className="field-error">
              <span className="visually-hidden">{texts.errorPrefix}</span>
              <span>{error}</span>
            </p>
          )}
          <div className="input">
            <input
              id="email"
              name="email"
              type="email"
              required
              maxLength={254}
              autoComplete="username"
              autoCapitalize="none"
              autoCorrect="off"
              spellCheck={false}
              aria-describedby={error && 'email-error'}
              aria-invalid={error ? true : undefined}
            />
          </div>
        </div>
        <button className="button wide" type="submit">
          {texts.submit}
        </button>
      </form>
    </>
  )
}
