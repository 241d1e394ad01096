'use client'

import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/page/texts/en'

type Properties = {
  /** Of a request, as in its log line. `#` if it is in the fragment of the URL. */
  id?: string
  shared: Pick<Texts['shared'], 'requestId' | 'copy' | 'copied'>
}

/** The reference for support, with a button that copies it. Nothing without an ID. */
export function Reference({ id: given, shared: { requestId, copy, copied } }: Properties) {
  const [copiedId, setCopiedId] = useState<string>()
  const [inUrl, setInUrl] = useState<string>() // not what could be a text of an attacker
  useEffect(() => setInUrl(/^#([\da-f-]{32,36})$/.exec(location.hash)?.[1]), [])
  const id = given === '#' ? inUrl : given
  return (
    id && (
      <div className="reference">
        <span id="reference">{requestId}</span>
        <code translate="no">{id}</code>
        <button
          type="button"
          aria-describedby="reference"
          onClick={async ({ currentTarget: { previousSibling } }) => {
            setCopiedId(undefined) // so that a second copy is announced too
            try {
              await navigator.clipboard.writeText(id)
              setCopiedId(id)
            } catch {
              getSelection()!.selectAllChildren(previousSibling!) // to copy by hand, as on plain http
            }
          }}
        >
          {copy}
        </button>
        <span role="status">{copiedId === id && copied}</span>
      </div>
    )
  )
}
