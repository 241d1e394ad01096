import { z } from 'zod'

const text = z.string({ error: ({ input }) => (input === undefined ? 'This field is required.' : 'This field has to be a string.') })
const object = { error: 'The body has to be a JSON object.' }

/** What the two operations take. Unknown fields are ignored; `code` and `token` of any length and alphabet are looked up. */
export const SsoExchangeRequest = z.object({ code: text }, object)
export const ResetPasswordRequest = z.object({ token: text, password: text }, object)
