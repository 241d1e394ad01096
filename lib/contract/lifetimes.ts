/** Lifetimes in seconds. SQL, tokens, cookies, texts and the OpenAPI document use these values. */
export const lifetimes = {
  /** The one-time code of an SSO callback. */
  code: 60,
  resetToken: 60 * 60,
  /** A session JWT and its cookie. A JWT never outlives its session. */
  sessionToken: 12 * 60 * 60,
  /** A session and its refresh tokens, from the sign-in. Never extended. */
  session: 7 * 24 * 60 * 60,
  /** A sign-in at the identity provider, from our redirect to its response. */
  signIn: 20 * 60,
  /** The cookie that binds a sign-in to the browser in which it began. */
  browser: 30 * 60,
  /** The time to enter a code after the password, or to enter the first code of a new TOTP secret. */
  secondFactorStep: 10 * 60,
  widgetToken: 15 * 60,
  /** The cookie of a browser in which a user has signed in with a password. */
  knownBrowser: 180 * 24 * 60 * 60,
} as const

/** How long the previous refresh token still returns the current token, for parallel requests and lost responses. */
export const refreshGraceSeconds = 10

/** How many live sessions a user can have (ASVS 7.1.2). Another session ends the oldest one. */
export const maxLiveSessions = 100

/** After this many wrong TOTP codes in a row, only a recovery code or an operator unlocks the second factor. */
export const maxSecondFactorFailures = 100

/** How many wrong passwords are allowed within a window. Further attempts are rejected until it ends. */
export const passwordLimits = {
  windowSeconds: 15 * 60,
  perAccountAndNetwork: 10,
  perAccount: 100,
  perNetwork: 60,
  perKnownBrowser: 10,
  perSecondFactor: 10,
} as const
