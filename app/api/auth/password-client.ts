import { clientSubnet } from '@/lib/http/client-key'
import { mailRequestOf } from '@/lib/mail/request'
import type { Client } from '@/lib/password/sign-in'
import { cookieOf } from '@/lib/session/cookie'
import { sessionIdsOfBrowser } from '@/lib/session/find'

/**
 * Returns the client that tries a password or a code: its network, its browser, its
 * sessions and its language.
 */
export async function passwordClientOf(request: Request): Promise<Client> {
  const { headers } = request
  return {
    ...mailRequestOf(headers),
    subnet: clientSubnet(request),
    sessionIds: await sessionIdsOfBrowser(headers),
    knownBrowser: cookieOf(headers, 'known'),
  }
}
