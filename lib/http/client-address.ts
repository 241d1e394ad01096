import { env } from '../settings/env'
import { clientNetwork, networkOf } from './client-network.mjs'

/**
 * The network that a request's client is counted by: an IPv4 address or an IPv6 /64.
 * On Vercel from the header that the platform sets, elsewhere from `X-Forwarded-For`.
 */
export function clientAddress({ headers }: { headers: Headers }): string {
  const { VERCEL, TRUSTED_PROXIES } = env()
  if (VERCEL) return networkOf(headers.get('x-vercel-forwarded-for')?.split(',').at(-1)?.trim() ?? '')
  return clientNetwork(headers.get('x-forwarded-for') ?? '', TRUSTED_PROXIES)
}
