'use client'

import { lazy } from 'react'

// a separate script, which is loaded only when `SecondFactor` is rendered
const Change = lazy(async () => ({
  default: (await import('./second-factor-change')).SecondFactorChange,
}))

/**
 * Changes the second factor. This must be a function, because React accepts no lazy
 * component from a client module.
 */
export function SecondFactor(properties: React.ComponentProps<typeof Change>) {
  return <Change {...properties} />
}
