'use client'

import { createContext, useContext, useEffect, useState } from 'react'
import type { Texts } from '@/lib/texts/en'
import { Reference } from './_ui/reference'
import { Screen } from './_ui/screen'

type Value = Texts['error'] & Pick<Texts, 'app' | 'shared'>

const Context = createContext<Value | null>(null)

/** Provides the texts to the error page, because Next.js passes it only the error. */
export function ErrorTexts({
  value,
  children,
}: {
  value: Value
  children: React.ReactNode
}) {
  return <Context value={value}>{children}</Context>
}

/** Shown if a page fails to render. The log contains the digest that this page shows. */
export default function ErrorPage({
  error,
  retry,
}: {
  error: Error & { digest?: string }
  retry: () => void
}) {
  const { app, title, body, shared } = useContext(Context)!
  const [isOutdated, setOutdated] = useState(false)
  useEffect(() => {
    import('./_ui/styles.css') // the document from Next.js has no styles
    window.isOutdated?.then(setOutdated)
  }, [])

  if (isOutdated)
    return (
      <Screen app={app} title={shared.updated.title} icon="wait" focus>
        <p>{shared.updated.body}</p>
        <div className="actions">
          <button className="button" type="button" onClick={() => location.reload()}>
            {shared.updated.reload}
          </button>
        </div>
      </Screen>
    )

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
