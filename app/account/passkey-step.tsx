'use client'

import { lazy } from 'react'

// a separate script, which is loaded only when `PasskeyStep` is rendered
const Add = lazy(async () => ({ default: (await import('./passkey-add')).PasskeyAdd }))

/**
 * Creates a passkey. This must be a function, because React accepts no lazy component from
 * a client module.
 */
export function PasskeyStep(properties: React.ComponentProps<typeof Add>) {
  return <Add {...properties} />
}
