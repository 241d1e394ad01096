'use client'

import { lazy } from 'react'

// a separate script, which is loaded only when this is rendered
const Change = lazy(async () => ({ default: (await import('./second-factor-change')).SecondFactorChange }))

/** A change of the second factor. A function, because React accepts nothing else from a client module. */
export function SecondFactor(properties: React.ComponentProps<typeof Change>) {
  return <Change {...properties} />
}
