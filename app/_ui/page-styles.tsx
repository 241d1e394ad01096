'use client'

// In the browser, the document has them, and React leaves them as they are. As a property, they would
// be in every page a second time: in the data with which React starts.
const styles = typeof window === 'undefined' ? process.env.PAGE_STYLES : undefined

/** The styles of every page, for its head. In development, `text` has them. */
export function PageStyles({ nonce, text }: { nonce?: string; text?: string }) {
  return <style nonce={nonce} suppressHydrationWarning dangerouslySetInnerHTML={{ __html: text ?? styles ?? '' }} />
}
