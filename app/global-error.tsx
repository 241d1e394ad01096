'use client'

const otherLanguages = [
  ['de', 'Etwas ist schiefgegangen', 'Der Fehler liegt bei uns.', 'Diese Seite neu laden'],
  ['fr', 'Une erreur s’est produite', 'Elle vient de nous, pas de vous.', 'Recharger cette page'],
  ['es', 'Se ha producido un error', 'El problema es nuestro, no suyo.', 'Volver a cargar esta página'],
  ['ar', 'حدث خطأ ما', 'الخطأ من جانبنا، لا من جانبك.', 'إعادة تحميل الصفحة'],
] as const

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
          {otherLanguages.map(([language, title, body, reload]) => (
            <div key={language} lang={language} dir={language === 'ar' ? 'rtl' : 'ltr'}>
              <h2>{title}</h2>
              <p>{body}</p>
              <p>
                <a href="">{reload}</a>
              </p>
            </div>
          ))}
          {error.digest && (
            <p>
              Support reference: <code>{error.digest}</code>
            </p>
          )}
        </main>
      </body>
    </html>
  )
}
