'use client'

import { createContext } from 'react'
import type { Texts } from '@/lib/page/texts/en'

type Value = Texts['error'] & Pick<Texts, 'app' | 'shared'>

/**
 * The texts of `error.tsx`, in a context because Next.js passes that page no properties of ours.
 */
const Context = createContext<Value | null>(null)

export { Context as ErrorTextsContext }

/** Provides the texts to `error.tsx`. */
export function ErrorTexts({ value, children }: { value: Value; children: React.ReactNode }) {
  return <Context value={value}>{children}</Context>
}
