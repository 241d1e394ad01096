import { EmailField } from '@/app/_ui/email-field'
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
        <EmailField texts={texts} error={error} />
        <button className="button wide" type="submit">
          {texts.submit}
        </button>
      </form>
    </>
  )
}
