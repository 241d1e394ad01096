import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'

/** 200 while the process is alive. Does not use the database. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(operations.getHealth, async ({ respond }) =>
  respond({ ok: true }),
)
