import { describeProvider } from '@/lib/client/discovery'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getProvider,
  async ({ respond }) => respond(describeProvider(env().PUBLIC_URL)),
)
