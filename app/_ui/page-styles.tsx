'use client'

// The server has the styles, the browser its document. As a property, they would be in every page a
// second time: in the data with which React starts.
const styles =
  typeof window === 'undefined' ? process.env.PAGE_STYLES : document.getElementById('page-styles')?.textContent

/** The styles of every page. In development, `text` has them. */
export function PageStyles({ nonce, text }: { nonce?: string; text?: string }) {
  return (
    <style
      id="page-styles"
      nonce={nonce}
      suppressHydrationWarning
      dangerouslySetInnerHTML={{ __html: text ?? styles ?? '' }}
    />
  )
}
