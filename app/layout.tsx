import { headers } from 'next/headers'
import { grounds, surfaces } from '@/lib/brand/accent-color'
import { brandFiles } from '@/lib/brand/files'
import { brandStyles } from '@/lib/brand/plain-page'
import { exchangeSsoCode } from '@/lib/contract/routes'
import { secretNames } from '@/lib/http/hide-secrets'
import { env } from '@/lib/settings/env'
import type { Texts } from '@/lib/texts/en'
import { languages } from '@/lib/texts/language'
import { texts } from '@/lib/texts/page-texts'
import { exchangeHeader } from './_proxy/exchange-header'
import { Inlined } from './_ui/inlined'
import { ErrorTexts } from './error'

const { icon = '/icon.svg', touchIcon, logo, logoDark } = brandFiles()
const themeColors = (['light', 'dark'] as const).flatMap((scheme) => [
  [surfaces[scheme], `(prefers-color-scheme: ${scheme}) and (max-width: 32rem)`],
  [grounds[scheme], `(prefers-color-scheme: ${scheme})`],
])

/**
 * The frame of every page. It uses no `metadata`, because Next.js would merge that again
 * for every request.
 */
export default async function Layout({ children }: { children: React.ReactNode }) {
  const requestHeaders = await headers()
  const nonce = requestHeaders.get('x-nonce') ?? undefined
  const isExchanging = requestHeaders.has(exchangeHeader)
  const { language, direction, app, shared, error, footer } = await texts()

  // suppressHydrationWarning is needed because browsers hide nonces from scripts,
  // including React.
  return (
    <html lang={language} dir={direction} suppressHydrationWarning>
      <Head {...{ nonce, isExchanging }} />
      <body>
        <Brand app={app} />
        <main className="card">
          <ErrorTexts value={{ app, ...error, shared }}>{children}</ErrorTexts>
        </main>
        <Footer language={language} texts={footer} />
      </body>
    </html>
  )
}

function Head({
  nonce,
  isExchanging,
}: {
  nonce: string | undefined
  isExchanging: boolean
}) {
  return (
    <head>
      <meta name="color-scheme" content="light dark" />
      {themeColors.map(([color, media]) => (
        <meta key={media} name="theme-color" content={color} media={media} />
      ))}
      <meta name="format-detection" content="telephone=no" />
      <meta name="robots" content="noindex" />
      <link rel="icon" href={icon} />
      {touchIcon && <link rel="apple-touch-icon" href={touchIcon} />}
      <Inlined
        nonce={nonce}
        secrets={secretNames.join(' ')}
        brandStyles={brandStyles()}
        exchangePath={isExchanging ? exchangeSsoCode.path : null}
      />
      <noscript>
        <style
          nonce={nonce}
          suppressHydrationWarning
          dangerouslySetInnerHTML={{
            __html: '.needs-script,.languages,.show{display:none!important}',
          }}
        />
      </noscript>
    </head>
  )
}

/**
 * The product's logo from public/brand/. Without a logo, the product's name next to its
 * first letter.
 */
function Brand({ app }: { app: string }) {
  return (
    <header className="brand" translate="no">
      {logo ? (
        <picture>
          {logoDark && <source srcSet={logoDark} media="(prefers-color-scheme: dark)" />}
          <img className="brand-logo" src={logo} alt={app} />
        </picture>
      ) : (
        <>
          <span className="brand-mark" aria-hidden="true">
            {[...app][0]}
          </span>
          <span className="brand-name">{app}</span>
        </>
      )}
    </header>
  )
}

/**
 * The links from the settings, and the list of languages (see language-switch.inline.js).
 */
function Footer({ language, texts }: { language: string; texts: Texts['footer'] }) {
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
        {Object.entries(languages).map(([tag, name]) => (
          <option key={tag} value={tag} lang={tag}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
