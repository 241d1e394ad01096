'use client'

import { useContext, useEffect } from 'react'
import { ErrorTextsContext } from './_ui/error-texts'
import { Reference } from './_ui/reference'
import { Screen } from './_ui/screen'

/** Shown if a page fails to render. The log holds the same digest. */
export default function ErrorPage({ error, retry }: { error: Error & { digest?: string }; retry: () => void }) {
  const { app, title, body, shared } = useContext(ErrorTextsContext)!
  useEffect(() => {
    import('./_ui/styles.css') // Next.js sends a document without styles
  }, [])
  return (
    <Screen app={app} title={title} icon="wrong" focus>
      <p>{body}</p>
      <div className="actions">
        <button className="button" type="button" onClick={retry}>
          {shared.tryAgain}
        </button>
      </div>
      <Reference id={error.digest} shared={shared} />
    </Screen>
  )
}
