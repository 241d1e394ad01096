'use client'

import { useEffect, useState } from 'react'
import type { Texts } from '@/lib/texts/en'
import { CopyButton } from './copy-button'

type Properties = {
  /**
   * The ID of a request, as in its log line. `#` if the ID is in the fragment of the URL.
   */
  id: string | undefined
  shared: Pick<Texts['shared'], 'requestId' | 'copy' | 'copied'>
}

/**
 * The reference for support, with a button that copies it. Renders nothing without an ID.
 */
export function Reference({ id: given, shared }: Properties) {
  // only an ID, because an attacker can write the URL
  const [inUrl, setInUrl] = useState<string>()
  useEffect(() => setInUrl(/^#([\da-f-]{32,36})$/.exec(location.hash)?.[1]), [])
  const id = given === '#' ? inUrl : given

  if (!id) return null

  return (
    <div className="reference">
      <span id="reference">{shared.requestId}</span>
      <code translate="no">{id}</code>
      <CopyButton text={id} shared={shared} aria-describedby="reference" />
    </div>
  )
}
