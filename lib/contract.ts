import { z } from 'zod'
import { type Issue, type RefusalCode, refusals } from './errors'

const text = z.string({ error: ({ input }) => (input === undefined ? 'This field is required.' : 'This field has to be a string.') })
const object = { error: 'The body has to be a JSON object.' }

/** What the two operations take. Unknown fields are ignored; `code` and `token` of any length and alphabet are looked up. */
export const SsoExchangeRequest = z.object(
  { code: text.meta({ description: 'The one-time code of the SSO callback. It lives for 60 seconds.' }) },
  object,
)
export const ResetPasswordRequest = z.object(
  {
    token: text.meta({ description: 'The token of the reset e-mail. It lives for an hour.' }),
    password: text.meta({
      description:
        'The new password: at least 8 characters (or what PASSWORD_MIN_LENGTH says), at most 72 bytes of UTF-8, not guessable. It is taken as it is.',
    }),
  },
  object,
)

/** What they answer with 200, and what every other route does. */
export const SsoExchangeAnswer = z.object({
  ok: z.literal(true),
  token: z
    .string()
    .regex(/^[\w-]+\.[\w-]+\.[\w-]+$/)
    .meta({ description: 'The session JWT (ES256). It lives for 12 hours.' }),
  refreshToken: z
    .string()
    .regex(/^[\w-]{43}$/)
    .meta({ description: 'The refresh token. It lives for seven days.' }),
})
export const PlainAnswer = z.object({ ok: z.literal(true) })

/** What can be wrong with a body, with its `code`, with its `token` and with its `password`. */
export const bodyIssueCodes = ['invalid_json', 'invalid_type'] as const
export const tokenIssueCodes = ['invalid_or_expired'] as const
export const passwordIssueCodes = ['too_short', 'too_long', 'invalid_characters', 'too_guessable', 'breached'] as const

const issueCodes = [...bodyIssueCodes, ...tokenIssueCodes, ...passwordIssueCodes] as const

const IssueAnswer = z.object({
  path: z.array(z.string()).meta({ description: 'Leads to the field; empty for the body as a whole.' }),
  code: z.enum(issueCodes).meta({ description: 'For programs. More may come.' }),
  message: z.string().meta({ description: 'For people. It may change.' }),
}) satisfies z.ZodType<Issue>

/** What a refusal answers: `issues` with VALIDATION_ERROR alone, `outcome` with SERVICE_UNAVAILABLE alone. */
export function refusalAnswer(code: RefusalCode) {
  const common = z.object({
    ok: z.literal(false),
    code: z.literal(code).meta({ description: 'For programs.' }),
    message: z.string().meta({ description: 'One sentence for people. It may change.', examples: [refusals[code].message] }),
    requestId: z
      .string()
      .regex(/^[\w.-]{8,40}$/)
      .meta({ description: 'The X-Request-Id of the answer, to be quoted to support.' }),
  })
  if (code === 'VALIDATION_ERROR') return common.extend({ issues: z.array(IssueAnswer).min(1) })
  if (code !== 'SERVICE_UNAVAILABLE') return common
  const outcome = z
    .literal('unknown')
    .optional()
    .meta({ description: 'Where it stands, the request may have had its effect. Otherwise nothing was changed.' })
  return common.extend({ outcome })
}

/** A public key as the JWKS lists it (RFC 7517), and the JWKS. */
export const PublicJwk = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.string().meta({ description: 'The key’s thumbprint (RFC 7638). The header of a session JWT names it.' }),
  alg: z.literal('ES256'),
  use: z.literal('sig'),
})
export const KeySetAnswer = z.object({ keys: z.array(PublicJwk).min(1) })
