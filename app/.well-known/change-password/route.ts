import { env } from '@/lib/env'

export const dynamic = 'force-dynamic'

/** Where password managers send a person who should change a password (W3C, A Well-Known URL for Changing Passwords). */
export function GET(): Response {
  return new Response(null, { status: 303, headers: { Location: env().FORGOT_PASSWORD_URL ?? '/reset-password', 'Cache-Control': 'no-store' } })
}
