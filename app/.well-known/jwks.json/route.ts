import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getSigningKeys,
  async ({ respond }) => respond({ keys: env().SESSION_SIGNING_KEYS.published }),
)
