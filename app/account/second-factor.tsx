'use client'

import { lazy } from 'react'

// a script of its own, which the account page does not load before
const Change = lazy(async () => ({ default: (await import('./second-factor-change')).SecondFactorChange }))

/** A change of the second factor. A function, because React takes nothing else from a script of the page. */
export function SecondFactor(properties: React.ComponentProps<typeof Change>) {
  return <Change {...properties} />
}
