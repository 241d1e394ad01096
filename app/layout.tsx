import type { Metadata, Viewport } from 'next'
import { headers } from 'next/headers'
import { accentCss, surfaces } from '@/lib/page/accent-color'
import { texts } from '@/lib/page/language'
import { secretNames } from '@/lib/page/url-secret'
import { env } from '@/lib/settings/env'
import arrivalScript from './_ui/arrival.js?raw'
import { ErrorTexts } from './_ui/error-texts'
import { pageStyles } from './_ui/styles'

// No `title`: every screen renders its own, because it depends on the state.
export const metadata: Metadata = {
  icons: { icon: '/icon.svg' },
  robots: { index: false },
  formatDetection: { telephone: false },
}

export const viewport: Viewport = {
  colorScheme: 'light dark',
  themeColor: [
    { media: '(prefers-color-scheme: light)', color: surfaces.light },
    { media: '(prefers-color-scheme: dark)', color: surfaces.dark },
  ],
}

/** The frame of every page, with the inlined script and styles. */
export default async function Layout({ children }: { children: React.ReactNode }) {
  const nonce = (await headers()).get('x-nonce') ?? undefined
  const { language, direction, app, shared, error } = await texts()
  // suppressHydrationWarning, because browsers hide nonces from scripts and React finds none.
  return (
    <html lang={language} dir={direction} suppressHydrationWarning>
      <head>
        <script
          nonce={nonce}
          data-secrets={secretNames.join(' ')}
          suppressHydrationWarning
          dangerouslySetInnerHTML={{ __html: arrivalScript }}
        />
        <style
          nonce={nonce}
          suppressHydrationWarning
          dangerouslySetInnerHTML={{ __html: accentCss(env().ACCENT_COLOR) + pageStyles() }}
        />
        <noscript>
          <style
            nonce={nonce}
            suppressHydrationWarning
            dangerouslySetInnerHTML={{ __html: '.needs-script{display:none!important}' }}
          />
        </noscript>
      </head>
      <body>
        <header className="brand">
          <span className="brand-mark" aria-hidden="true">
            {[...app][0]}
          </span>
          <span className="brand-name">{app}</span>
        </header>
        <main className="card">
          <ErrorTexts value={{ app, ...error, shared }}>{children}</ErrorTexts>
        </main>
      </body>
    </html>
  )
}
