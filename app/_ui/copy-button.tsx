import { useState } from 'react'
import type { Texts } from '@/lib/texts/en'

type Properties = React.ComponentProps<'button'> & {
  text: string
  shared: Pick<Texts['shared'], 'copy' | 'copied'>
}

/** A button that copies `text`. The element before the button shows this text. */
export function CopyButton({ text, shared: { copy, copied }, ...button }: Properties) {
  const [copiedText, setCopiedText] = useState<string>()
  return (
    <>
      <button
        type="button"
        onClick={async ({ currentTarget: { previousSibling } }) => {
          setCopiedText(undefined) // so that screen readers announce a second copy too
          try {
            await navigator.clipboard.writeText(text)
            setCopiedText(text)
          } catch {
            // so that the user can copy the text by hand
            getSelection()!.selectAllChildren(previousSibling!)
          }
        }}
        {...button}
      >
        {copy}
      </button>
      <span role="status">{copiedText === text && copied}</span>
    </>
  )
}
