/** The limit per client for the whole service: pages, routes and public documents together. */
export const platformLimit = { name: 'platform', requests: 2_000, windowSeconds: 15 * 60 } as const

/** Returns the whole seconds in `ms`: at least 1, and no more than a window has, after the clock was set back. */
export function secondsLeft(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms / 1000), 1), platformLimit.windowSeconds)
}
