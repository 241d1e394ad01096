import * as z from 'zod'
import { type Challenge, type ErrorCode, errors, type Issue, oauthErrors } from './errors'
import { lifetimes } from './lifetimes'

const text = z.string({
  error: ({ input }) =>
    input === undefined ? 'This field is required.' : 'This field must be a string.',
})
const matching = (pattern: RegExp, description: string) =>
  z.string().regex(pattern).describe(description)
const hour = 60 * 60
const day = 24 * hour
const jwt = z.string().regex(/^[\w-]+\.[\w-]+\.[\w-]+$/)
const instant = z.iso.datetime({ precision: 3 })
const email = text.describe(
  'One email address. Upper and lower case count as equal. Spaces, invisible characters,\n' +
    '`mailto:`, and a display name with `<>` around the address are ignored.',
)

const newPassword = text.describe(
  'The new password: at least 8 characters (PASSWORD_MIN_LENGTH can require more) and at\n' +
    'most 72 bytes of UTF-8. It must withstand 10⁸ guesses, and in production it must not\n' +
    'appear in a known breach. No particular kinds of characters, such as digits, are\n' +
    'required. Never trimmed. Counted and hashed in Unicode NFC.',
)

const currentPassword = text.describe(
  'The password of the user, which counts as an attempt to sign in.',
)

/**
 * Returns the schema of a request body. It ignores unknown fields, and checks types, not
 * values.
 */
function body<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object(shape, { error: 'The body must be a JSON object.' })
}

export const SsoExchangeRequest = body({
  code: text.describe('The one-time code from the SSO callback redirect.'),
})

export const ResetPasswordRequest = body({
  token: text.describe(
    `The token of a reset email, valid for ${lifetimes.resetToken / hour} hour, or of an invitation, valid for\n` +
      `${lifetimes.invitation / day} days. It can be used for up to 30 attempts. A password with a wrong format\n` +
      '(`too_short`, `too_long`, `invalid_characters`) does not count as an attempt.',
  ),
  password: newPassword,
  removePasskeys: z
    .boolean({ error: 'This field must be true or false.' })
    .optional()
    .describe(
      'Whether to remove the passkeys of the user. Ignored if the user has a second factor,\n' +
        'which a mailbox alone must not remove.',
    ),
})

export const ChangePasswordRequest = body({ currentPassword, password: newPassword })

export const SignInRequest = body({
  email,
  password: text.describe(
    'The password. Never trimmed. Verified as typed, then in Unicode NFC.',
  ),
})

const code = text.describe(
  'Six digits of the authenticator app, in any script. Spaces, punctuation and invisible\n' +
    'characters are ignored. A code is valid for its own 30 seconds, and for the 30 seconds\n' +
    'before and after, by the clock of the database. It works once.',
)
const recoveryCode = text.optional().describe('A recovery code, in place of `code`.')
const proof = { code: code.optional(), recoveryCode }
function demandOne(
  { code, recoveryCode }: { code?: unknown; recoveryCode?: unknown },
  context: z.RefinementCtx,
): void {
  const message = 'Send either a code or a recovery code.'
  if ((code === undefined) === (recoveryCode === undefined))
    context.addIssue({
      code: 'invalid_type',
      expected: 'string',
      path: ['code'],
      message,
    })
}

export const SignInSecondFactorRequest = body({ challenge: text, ...proof }).superRefine(
  demandOne,
)

const setUpChallenge = text
  .optional()
  .describe(
    'The challenge of a sign-in in which the user has to set up a second factor, in place of\n' +
      'a session.',
  )
function demandPasswordOrChallenge(
  { password, challenge }: { password?: unknown; challenge?: unknown },
  context: z.RefinementCtx,
): void {
  if ((password === undefined) !== (challenge === undefined)) return

  const message = 'Send either a password or a challenge.'
  const issue = { code: 'invalid_type', expected: 'string', message } as const
  context.addIssue({ ...issue, path: ['password'] })
}

export const StartSecondFactorRequest = body({
  password: currentPassword.optional(),
  challenge: setUpChallenge,
}).superRefine(demandPasswordOrChallenge)
export const ConfirmSecondFactorRequest = body({
  enrolment: text,
  code,
  challenge: setUpChallenge,
})

/** The password and one code, or nothing after a fresh sign-in with a passkey. */
type GivenProof = { password?: unknown; code?: unknown; recoveryCode?: unknown }
function demandProof(given: GivenProof, context: z.RefinementCtx): void {
  const isEmpty = [given.password, given.code, given.recoveryCode].every(
    (each) => each === undefined,
  )
  if (isEmpty) return

  demandOne(given, context)
  if (given.password !== undefined) return

  const message = 'This field is required.'
  const issue = { code: 'invalid_type', expected: 'string', message } as const
  context.addIssue({ ...issue, path: ['password'] })
}

export const ReplaceRecoveryCodesRequest = body({
  password: currentPassword.optional(),
  code: code.optional(),
}).superRefine(demandProof)
export const RemoveSecondFactorRequest = body({
  password: currentPassword.optional(),
  ...proof,
}).superRefine(demandProof)

const base64url = text.describe('Bytes in base64url, without padding.')

const assertion = z.object(
  {
    id: base64url,
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.optional(),
  },
  { error: 'This field must be an object.' },
)
const registration = z.object(
  {
    id: base64url,
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z
      .array(z.string(), { error: 'This field must be a list.' })
      .optional()
      .describe('The result of `getTransports()`. Unknown ones are ignored.'),
  },
  { error: 'This field must be an object.' },
)
const passkeyId = text.describe('A passkey of the user. Any other is ignored.')

export const SignInPasskeyRequest = body({
  credential: assertion.describe(
    'The `AuthenticatorAssertionResponse` of `navigator.credentials.get()`.',
  ),
})
export const StartPasskeyRequest = body({ challenge: setUpChallenge })
export const AddPasskeyRequest = body({
  challenge: setUpChallenge,
  credential: registration.describe(
    'The `AuthenticatorAttestationResponse` of `navigator.credentials.create()`.',
  ),
})
export const RenamePasskeyRequest = body({
  passkeyId,
  name: text.describe('1 to 60 characters. Spaces at both ends are removed.'),
})
export const RemovePasskeyRequest = body({ passkeyId })

export const ForgotPasswordRequest = body({ email })

/** Without a token in the body, the operation uses the cookies of the browser. */
export const RefreshTokenRequest = body({
  refreshToken: text
    .optional()
    .describe(
      'The newest refresh token. Browsers leave it out: they send it as a cookie.',
    ),
})

/** At least one of the two fields is required. */
export const EndSessionsRequest = body({
  sessionId: text.optional().describe('A session of the user. Any other is ignored.'),
  others: z
    .boolean({ error: 'This field must be true or false.' })
    .optional()
    .describe('Whether to end all but the current one.'),
})

export const WidgetSessionRequest = body({
  widgetToken: text.describe('The token of the widget, from the HTML of the page.'),
})

function success<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.object({ ok: z.literal(true), ...shape })
}

export const SessionTokensResponse = success({
  token: jwt.describe(
    `The session JWT (ES256), valid for ${lifetimes.sessionToken / hour} hours, but not longer than its session\n` +
      'or than half of `SESSION_IDLE_MINUTES`. Claims: `iss`, `aud`, `sub` (the user), `sid`\n' +
      '(the session), `jti`, `iat`, `exp`, `auth_time` (when the user signed in), `email`,\n' +
      '`amr` (how the user signed in, RFC 8176)\n' +
      'if that is known, and, after a sign-in through an identity provider, `connection`\n' +
      '(its slug).',
  ),
  refreshToken: matching(
    /^[\w-]{48}$/,
    'Renews the session, which lasts ' +
      `${lifetimes.session / day} days from the sign-in. Each rotation replaces it.`,
  ),
})

/**
 * The response of a refresh. If the request used a cookie, it has no refresh token, so
 * that no script can read one.
 */
export const RefreshResponse = SessionTokensResponse.extend({
  refreshToken: SessionTokensResponse.shape.refreshToken
    .optional()
    .describe('The current refresh token, only if the body of the request had one.'),
})

export const SessionResponse = success({
  user: z.object({ id: z.guid(), email: z.string() }),
  sessionId: z.guid().describe('The `sid` of the JWT.'),
  expiresAt: instant.describe('When the JWT expires.'),
  sessionExpiresAt: instant.describe(
    'When the session ends and can’t be refreshed any more.',
  ),
})

export const SessionsResponse = success({
  sessions: z.array(
    z.object({
      id: z.guid().describe('The `sid` of its JWT.'),
      device: z
        .string()
        .nullable()
        .describe('Such as “Firefox on Windows”, or null if unknown.'),
      createdAt: instant.describe('When the user signed in.'),
      lastUsedAt: instant.describe(
        'When it, or a client in the same browser, last got tokens. That can be\n' +
          `${lifetimes.sessionToken / hour} hours ago even if the session is in use.`,
      ),
      current: z.boolean().describe('Whether it is the session of the request.'),
      signedInWith: z.object({
        method: z
          .enum(['password', 'passkey', 'sso', 'code', 'operator'])
          .describe(
            '`code` is a callback of your own. With `operator`, an operator signed in as the user.',
          ),
        connection: z
          .object({ slug: z.string(), name: z.string() })
          .optional()
          .describe('The identity provider of `sso`, unless it was removed.'),
      }),
    }),
  ),
})

const clientId = text
  .optional()
  .describe('The client, unless the header `Authorization` (Basic) names it.')
const clientSecret = text
  .optional()
  .describe('Its secret, unless that is in the header. A public client has none.')

/** A request for tokens (RFC 6749 §4.1.3 and §6), as a form. */
export const TokenRequest = body({
  grant_type: text.describe('`authorization_code` or `refresh_token`.'),
  code: text
    .optional()
    .describe(`The code of a callback, valid for ${lifetimes.code} seconds.`),
  redirect_uri: text
    .optional()
    .describe(
      'That of the authorization request. May be missing if the code has a challenge.',
    ),
  code_verifier: text
    .optional()
    .describe('The PKCE verifier (RFC 7636), if the code has a challenge.'),
  refresh_token: text.optional().describe('The newest refresh token of the client.'),
  client_id: clientId,
  client_secret: clientSecret,
})

/** A token that a client no longer needs (RFC 7009 §2.1). */
export const RevocationRequest = body({
  token: text.describe('An access token or a refresh token of the client.'),
  token_type_hint: text.optional().describe('Ignored: each token shows what it is.'),
  client_id: clientId,
  client_secret: clientSecret,
})

/** The tokens of a client (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3). */
export const TokenResponse = z.object({
  access_token: jwt.describe(
    'A session JWT with the claim `client_id`. To the client, it is opaque.',
  ),
  token_type: z.literal('Bearer'),
  expires_in: z.int().min(1).describe('The seconds for which both JWTs are valid.'),
  refresh_token: SessionTokensResponse.shape.refreshToken,
  id_token: jwt.describe(
    'An ID token (RS256). Claims: those of the session JWT without `jti`, `nonce` (only with a\n' +
      'code), `email_verified` and `preferred_username`. `aud` is the client.',
  ),
  scope: z.literal('openid email profile'),
})

/** The claims about a user (OpenID Connect Core §5.3.2). */
export const UserInfoResponse = z.object({
  sub: z.guid().describe('The ID of the user.'),
  email: z.string(),
  email_verified: z.literal(true),
  preferred_username: z.string().describe('The email address.'),
})

/** A success without content. */
export const EmptyResponse = z.object({})

/** The document with which clients configure themselves (OpenID Connect Discovery §3). */
export const ProviderResponse = z.looseObject({
  issuer: z.string().describe('`PUBLIC_URL`.'),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  userinfo_endpoint: z.url(),
  revocation_endpoint: z.url(),
  end_session_endpoint: z.url(),
  jwks_uri: z.url().describe('The keys of ID tokens, not of session JWTs.'),
})

export const WidgetSessionResponse = success({
  token: jwt.describe(
    'The widget JWT (ES256, `typ` is `widget+jwt`), valid for ' +
      `${lifetimes.widgetToken / 60} minutes. Claims:\n` +
      '`iss` (`PUBLIC_URL/widget`), `aud` (`widget`), `sub` (the widget), `widget` (its slug),\n' +
      '`origin` (of the page), `iat`, `exp`.',
  ),
  expiresAt: instant.describe('When the JWT expires.'),
})

const stepMethod = z.enum(['totp', 'passkey', 'recovery-code'])

export const SecondFactorResponse = success({
  available: z
    .boolean()
    .describe('Whether the user can set up an authenticator app here.'),
  enabledAt: instant
    .optional()
    .describe('Since when a sign-in with the password asks for a code.'),
  recoveryCodesLeft: z.int().min(0).optional(),
  methods: z
    .array(stepMethod)
    .optional()
    .describe('What completes a sign-in with the password. Missing if nothing has to.'),
})

export const StartSecondFactorResponse = success({
  secret: z
    .string()
    .describe('The TOTP secret (RFC 6238: SHA-1, six digits, 30 seconds), in base32.'),
  uri: z.string().describe('The same as an `otpauth:` URI, for a QR code.'),
  enrolment: z
    .string()
    .describe('The secret, encrypted for `confirm`. Nothing is stored until then.'),
  expiresAt: instant.describe('Until when `confirm` accepts it.'),
})

const recoveryCodes = z
  .array(z.string().regex(/^[0-9A-Z]{6}(-[0-9A-Z]{6}){3}$/))
  .describe('Ten codes. Empty if a repeated request confirms the same second factor.')

export const RecoveryCodesResponse = success({ recoveryCodes })

/** The session that a set-up starts, if the request had a challenge. */
const startedTokens = SessionTokensResponse.pick({
  token: true,
  refreshToken: true,
}).partial().shape

export const ConfirmSecondFactorResponse = success({ recoveryCodes, ...startedTokens })

/** What `navigator.credentials.get()` needs (`PublicKeyCredentialRequestOptionsJSON`). */
export const PasskeySignInOptionsResponse = success({
  options: z.object({
    challenge: matching(/^[\w-]{48}$/, 'In base64url.'),
    rpId: z.string().describe('The domain of the passkeys.'),
    userVerification: z.literal('required'),
    timeout: z.int().describe('In milliseconds.'),
  }),
  expiresAt: instant.describe('Until when the challenge can be used.'),
})

/** What `navigator.credentials.create()` needs (`PublicKeyCredentialCreationOptionsJSON`). */
export const PasskeyOptionsResponse = success({
  options: z.object({
    challenge: matching(/^[\w-]{48}$/, 'In base64url.'),
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })),
    excludeCredentials: z
      .array(
        z.object({
          type: z.literal('public-key'),
          id: z.string(),
          transports: z.array(z.string()),
        }),
      )
      .describe('The passkeys that the user has.'),
    authenticatorSelection: z.object({
      residentKey: z.literal('required'),
      requireResidentKey: z.literal(true),
      userVerification: z.literal('required'),
    }),
    attestation: z.literal('none'),
    timeout: z.int().describe('In milliseconds.'),
  }),
  expiresAt: instant.describe('Until when the challenge can be used.'),
})

const passkey = z.object({
  id: z.guid(),
  name: z
    .string()
    .describe(
      'Chosen by the user, or else the provider, or the device, such as “Firefox on Windows”.',
    ),
  provider: z
    .string()
    .optional()
    .describe('The password manager, as it claims, such as “Google Password Manager”.'),
  synced: z.boolean().describe('Whether it is copied to other devices of the user.'),
  createdAt: instant,
  lastUsedAt: instant.optional(),
})

export const PasskeysResponse = success({
  available: z.boolean().describe('Whether the user can add a passkey here.'),
  passkeys: z.array(passkey).describe('The newest is first.'),
})

export const PasskeyResponse = success({
  passkey,
  recoveryCodes: recoveryCodes.optional(),
  ...startedTokens,
})

export const OkResponse = success({})

/** A public signing key, as listed in the JWKS (RFC 7517). */
export const PublicJwk = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z
    .string()
    .describe(
      'The thumbprint of the key (RFC 7638). The header of a session JWT names it.',
    ),
  alg: z.literal('ES256'),
  use: z.literal('sig'),
})

export const JwksResponse = z.object({ keys: z.array(PublicJwk).min(1) })

/** A public key of ID tokens, as listed in their JWKS. */
export const PublicRsaJwk = z.object({
  kty: z.literal('RSA'),
  n: z.string(),
  e: z.string(),
  kid: z
    .string()
    .describe(
      'The thumbprint of the key (RFC 7638). The header of an ID token names it.',
    ),
  alg: z.literal('RS256'),
  use: z.literal('sig'),
})

export const RsaJwksResponse = z.object({ keys: z.array(PublicRsaJwk).min(1) })

const passwordIssues = {
  too_short: 'the password has too few characters',
  too_long: 'the password has more than 72 bytes of UTF-8',
  invalid_characters: 'the password has characters that it must not have',
  too_guessable: 'an attacker needs fewer than 10⁸ guesses',
  breached: 'the password appears in a known breach',
}
export type PasswordIssueCode = keyof typeof passwordIssues

/** Every code of an issue, and when an error has it. */
const issues = {
  invalid_json: 'the body is not JSON in UTF-8, or it is incomplete',
  invalid_type: 'the body or the field does not match the schema',
  invalid_or_expired:
    'the token is unknown, used, expired or replaced by a newer one; or 30 attempts were\n' +
    'made with it; or its user is disabled or may only use SSO',
  invalid_email: 'the value is not exactly one email address',
  wrong_code: 'the code is wrong',
  used_code: 'the code was already used',
  unknown_passkey: 'the user of the passkey exists, and has no such passkey',
  user_not_verified: 'the authenticator did not verify the user',
  invalid_name: 'the name does not have 1 to 60 characters, or has control characters',
  ...passwordIssues,
}
const issueMeanings = Object.entries(issues).map(
  ([code, when]) => `\`${code}\` (${when})`,
)

const IssueSchema = z.object({
  path: z
    .array(z.string())
    .describe('Leads to the field; empty for the body as a whole.'),
  code: z
    .enum(Object.keys(issues))
    .describe(`For programs: ${issueMeanings.join(', ')}. New codes may be added.`),
  message: z.string().describe('For users. It may change.'),
}) satisfies z.ZodType<Issue>

const ChallengeSchema = z.object({
  challenge: matching(
    /^[\w-]{88}$/,
    'For `POST /api/auth/sign-in/second-factor`, or with `setUp` for the operations that set\n' +
      'up a second factor.',
  ),
  expiresAt: instant,
  methods: z
    .array(stepMethod)
    .describe('What completes the sign-in. Empty if the user has to set something up.'),
  setUp: z
    .array(z.enum(['passkey', 'totp']))
    .optional()
    .describe('What the user can set up to complete the sign-in.'),
}) satisfies z.ZodType<Challenge>

const requestId = matching(
  /^[\w.-]{8,40}$/,
  'The X-Request-Id of the response, to quote to support.',
)

/** The error of an operation for OpenID clients (RFC 6749 §5.2). */
export const OAuthErrorResponse = z.object({
  error: z.enum(Object.values(oauthErrors)).describe('For programs.'),
  error_description: z.string().describe('One sentence for developers. It may change.'),
  requestId,
  outcome: z
    .literal('unknown')
    .optional()
    .describe('If present, the request may have taken effect.'),
})

/**
 * Returns the schema of an error body. Some errors have more fields than the common ones.
 */
export function errorSchema(code: ErrorCode) {
  const common = z.object({
    ok: z.literal(false),
    code: z.literal(code).describe('For programs.'),
    message: z.string().meta({
      description: 'One sentence for users. It may change.',
      examples: [errors[code].message],
    }),
    requestId,
  })

  if (code === 'SECOND_FACTOR_REQUIRED') return common.extend(ChallengeSchema.shape)
  if (code === 'VALIDATION_ERROR' || code === 'SECOND_FACTOR_INVALID')
    return common.extend({ issues: z.array(IssueSchema).min(1) })
  if (code === 'PASSKEY_INVALID')
    return common.extend({ issues: z.array(IssueSchema).min(1).optional() })
  if (code !== 'SERVICE_UNAVAILABLE') return common

  const outcome = z
    .literal('unknown')
    .optional()
    .describe(
      'If present, the request may have taken effect. Otherwise nothing was changed.',
    )

  return common.extend({ outcome })
}
