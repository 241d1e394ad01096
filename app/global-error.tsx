'use client'

import './globals.css'

/** What is left when not even the layout could be rendered: no settings, so no name, no colour, no choice of language. */
export default function GlobalError({ error }: { error: Error & { digest?: string } }) {
  return (
    <html lang="en">
      <body>
        <main className="card">
          <title>Something went wrong</title>
          <h1>Something went wrong</h1>
          <p>This is our fault, not yours. Try again in a moment.</p>
          {error.digest && (
            <p className="reference">
              Reference for support: <code>{error.digest}</code>
            </p>
          )}
        </main>
      </body>
    </html>
  )
}
