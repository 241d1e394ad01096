import { z } from 'zod'

/** What the two operations take. Unknown fields are ignored; `code` and `token` of any length and alphabet are looked up. */
export const SsoExchangeRequest = z.object({ code: z.string() })
export const ResetPasswordRequest = z.object({ token: z.string(), password: z.string() })
