import { headers } from 'next/headers'
import { grounds, surfaces } from '@/lib/brand/accent-color'
import { brandFiles } from '@/lib/brand/files'
import { brandStyles } from '@/lib/brand/plain-page'
import { secretNames } from '@/lib/http/hide-secrets'
import { texts } from '@/lib/texts/language'
import { Brand } from './_ui/brand'
import { Footer } from './_ui/footer'
import { Inlined } from './_ui/inlined'
import { ErrorTexts } from './error'

const { icon = '/icon.svg', touchIcon } = brandFiles()
const themeColors = (['light', 'dark'] as const).flatMap((scheme) => [
  [surfaces[scheme], `(prefers-color-scheme: ${scheme}) and (max-width: 32rem)`],
  [grounds[scheme], `(prefers-color-scheme: ${scheme})`],
])

/**
 * The frame of every page. It uses no `metadata`, because Next.js would merge that again
 * for every request.
 */
export default async function Layout({ children }: { children: React.ReactNode }) {
  const nonce = (await headers()).get('x-nonce') ?? undefined
  const { language, direction, app, shared, error, footer } = await texts()

  // suppressHydrationWarning is needed because browsers hide nonces from scripts,
  // including React.
  return (
    <html lang={language} dir={direction} suppressHydrationWarning>
      <Head nonce={nonce} />
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

function Head({ nonce }: { nonce: string | undefined }) {
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
