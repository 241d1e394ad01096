import { languages } from '@/lib/page/language'
import type { Texts } from '@/lib/page/texts/en'
import { env } from '@/lib/settings/env'

/** Links that the settings name, and the other languages. language-switch.inline.js switches to them. */
export function Footer({ language, texts }: { language: string; texts: Texts['footer'] }) {
  const { HELP_URL, PRIVACY_URL, TERMS_URL } = env()
  const links = [
    [texts.help, HELP_URL],
    [texts.privacy, PRIVACY_URL],
    [texts.terms, TERMS_URL],
  ].filter(([, url]) => url)
  return (
    <footer className="footer">
      {links.length > 0 && (
        <ul>
          {links.map(([label, url]) => (
            <li key={label}>
              <a href={url}>{label}</a>
            </li>
          ))}
        </ul>
      )}
      <ul className="languages" aria-label={texts.language}>
        {languages().map(([tag, name]) => (
          <li key={tag}>
            <button type="button" data-language={tag} lang={tag} aria-pressed={tag === language}>
              {name}
            </button>
          </li>
        ))}
      </ul>
    </footer>
  )
}
