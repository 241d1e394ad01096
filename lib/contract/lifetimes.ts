/** Lifetimes in seconds. SQL, tokens, cookies, texts and the OpenAPI document use these values. */
export const lifetimes = {
  /** The one-time code of an SSO callback. */
  code: 60,
  /** The token of a reset e-mail. */
  resetToken: 60 * 60,
  /** A session, its JWT and its cookie. */
  sessionToken: 12 * 60 * 60,
  /** A refresh token. */
  refreshToken: 7 * 24 * 60 * 60,
} as const
