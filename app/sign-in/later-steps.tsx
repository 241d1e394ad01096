'use client'

import { lazy } from 'react'

// Separate scripts, which are loaded only when their step is rendered.
const Code = lazy(async () => ({
  default: (await import('./second-factor-form')).SecondFactorForm,
}))
const Steps = lazy(async () => ({ default: (await import('./set-up-steps')).SetUpSteps }))
const Only = lazy(async () => ({ default: (await import('./passkey-only')).OnlyPasskey }))

// These must be functions, because React accepts no lazy component from a client module.

/** Asks for the second factor after the password was verified. */
export function SecondFactor(properties: React.ComponentProps<typeof Code>) {
  return <Code {...properties} />
}

/** Sets up a second factor inside a sign-in. */
export function SetUp(properties: React.ComponentProps<typeof Steps>) {
  return <Steps {...properties} />
}

/** Asks a user for the passkey that is the only second factor. */
export function PasskeyOnly(properties: React.ComponentProps<typeof Only>) {
  return <Only {...properties} />
}
