'use client'

import texts from '@/lib/texts/crash-texts.json'

/**
 * Shown if the layout fails to render. The settings may be missing, so it shows the text
 * in all languages.
 */
export default function GlobalError({ error }: { error: Error & { digest?: string } }) {
  return (
    <html lang="en">
      <head>
        <title>Something went wrong</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
      </head>
      {/* React sets this style in the browser, so it needs no nonce. */}
      <body
        style={{
          maxInlineSize: '28rem',
          margin: '2rem auto',
          padding: '0 1.5rem',
          font: '1rem/1.5 system-ui',
          overflowWrap: 'anywhere', // long words of large text
        }}
      >
        <main>
          {texts.map((each, index) => (
            <Apology key={each.language} {...each} isFirst={index === 0} />
          ))}
          {error.digest && (
            <p>
              Support reference: <code translate="no">{error.digest}</code>
            </p>
          )}
        </main>
      </body>
    </html>
  )
}

function Apology({
  language,
  title,
  body,
  reload,
  isFirst,
}: (typeof texts)[number] & { isFirst: boolean }) {
  const Heading = isFirst ? 'h1' : 'h2'
  return (
    <div lang={language} dir="auto">
      <Heading>{title}</Heading>
      <p>{body}</p>
      <p>
        {/* An empty href is the current URL. */}
        <a href="" style={{ color: 'inherit' }}>
          {reload}
        </a>
      </p>
    </div>
  )
}
