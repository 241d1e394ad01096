import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getIdTokenKeys,
  async ({ respond }) => respond({ keys: env().ID_TOKEN_SIGNING_KEYS!.published }),
)
