/** The limit per client for the whole service: pages, routes and public documents together. */
export const platformLimit = { name: 'platform', requests: 2_000, windowSeconds: 15 * 60 } as const
