import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { makeSignInOptions } from '@/lib/passkey/sign-in'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getPasskeySignInOptions,
  async ({ respond }) => respond({ ok: true, ...(await makeSignInOptions()) }),
)
