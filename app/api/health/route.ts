import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getHealth,
  async ({ respond }) => respond({ ok: true }),
)
