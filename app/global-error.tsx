'use client'

/**
 * Shown if even the layout fails to render. It has no settings, so no name and no colours; no
 * language, so all of them; and no nonce for a style.
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
          color: 'CanvasText',
          background: 'Canvas',
          font: '1rem/1.5 system-ui',
        }}
      >
        <main>
          <h1>Something went wrong</h1>
          <p>This is our fault, not yours.</p>
          {/* An empty href is the current URL. */}
          <p>
            <a href="">Load this page again</a>
          </p>
          <div lang="de">
            <h2>Etwas ist schiefgegangen</h2>
            <p>Das liegt an uns, nicht an Ihnen.</p>
            <p>
              <a href="">Diese Seite neu laden</a>
            </p>
          </div>
          {error.digest && (
            <p>
              Reference for support: <code>{error.digest}</code>
            </p>
          )}
        </main>
      </body>
    </html>
  )
}
