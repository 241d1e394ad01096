import { userRoute } from '@/app/api/auth/user-route'
import { operations } from '@/lib/contract/operations'
import { addPasskey } from '@/lib/passkey/add'
import { describePasskey } from '@/lib/passkey/list'
import { addPasskeySetUp } from '@/lib/passkey/set-up'
import { stepCookie } from '@/lib/session/cookie'
import { requireRefreshCookie } from '@/lib/session/fresh'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = userRoute(
  operations.addPasskey,
  async (session, { credential }, caller) => {
    const { passkey, ...codes } = await addPasskey(session, credential, caller)
    return { passkey: describePasskey(passkey), ...codes }
  },
  () => [stepCookie('challenge', null)],
  (headers) => requireRefreshCookie(headers),
  async (user, { credential }, caller) => {
    const { passkey, ...completed } = await addPasskeySetUp(user, credential, caller)
    return { passkey: describePasskey(passkey), ...completed }
  },
)
