import { env } from '@/lib/settings/env'
import type { Texts } from '@/lib/texts/en'
import { languages } from '@/lib/texts/language'

/**
 * The links from the settings, and the list of languages (see language-switch.inline.js).
 */
export function Footer({
  language,
  texts,
}: {
  language: string
  texts: Texts['footer']
}) {
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
      <LanguageList language={language} label={texts.language} />
    </footer>
  )
}

function LanguageList({ language, label }: { language: string; label: string }) {
  return (
    <label className="languages">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM3.5 12h17M12 3.5c-5 5-5 12 0 17M12 3.5c5 5 5 12 0 17" />
      </svg>
      <span className="visually-hidden">{label}</span>
      <select
        id="language"
        name="language"
        autoComplete="off"
        defaultValue={language}
        translate="no"
      >
        {languages().map(([tag, name]) => (
          <option key={tag} value={tag} lang={tag}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
