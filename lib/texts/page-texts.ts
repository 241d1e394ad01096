import { headers } from 'next/headers'
import type { Texts } from './en'
import { textsFor } from './texts'

/**
 * Returns the texts of the pages in the language of the current request. In a file of its
 * own, because `next/headers` loads React, which API routes do not need.
 */
export async function texts(): Promise<Texts> {
  return textsFor(await headers())
}
