'use client'

import { useEffect, useRef, useState } from 'react'

// In the browser, the document has them, and React leaves them as they are. As a property, they would
// be in every page a second time: in the data with which React starts.
const styles = typeof window === 'undefined' ? process.env.PAGE_STYLES : undefined

/** The styles of every page, for its head. In development, `text` has them. */
export function PageStyles({ nonce, text }: { nonce?: string; text?: string }) {
  const element = useRef<HTMLStyleElement>(null)
  const [loaded, setLoaded] = useState('')
  useEffect(() => {
    // If a page can't be rendered, Next.js sends a document without any, and React renders ours.
    if (!element.current?.textContent) import('./styles.css?raw').then((file) => setLoaded(file.default))
  }, [])
  const html = { __html: text ?? styles ?? loaded }
  return <style ref={element} nonce={nonce} suppressHydrationWarning dangerouslySetInnerHTML={html} />
}
