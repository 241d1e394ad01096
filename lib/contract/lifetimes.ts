/**
 * Lifetimes in seconds. SQL, tokens, cookies, texts and the OpenAPI document use these
 * values.
 */
export const lifetimes = {
  /** The one-time code of an SSO callback. */
  code: 60,
  resetToken: 60 * 60,
  /** The link of an invitation, with which a user chooses the first password. */
  invitation: 7 * 24 * 60 * 60,
  /** A session JWT and its cookie. A JWT never outlives its session. */
  sessionToken: 12 * 60 * 60,
  /** A session and its refresh tokens, from the sign-in. Never extended. */
  session: 7 * 24 * 60 * 60,
  /**
   * A sign-in at the identity provider: the time between our redirect and the provider's
   * response.
   */
  signIn: 20 * 60,
  /** The cookie that binds a sign-in to the browser in which it began. */
  browser: 30 * 60,
  /**
   * The time to enter a code after the password, or to enter the first code of a new TOTP
   * secret.
   */
  secondFactorStep: 10 * 60,
  widgetToken: 15 * 60,
  /** A challenge of a sign-in with a passkey. Autofill waits as long as the page is open. */
  passkeySignIn: 60 * 60,
  /** A challenge with which a passkey is added. */
  passkeyRegistration: 10 * 60,
  /** How old the sign-in may be with which a user adds or removes a passkey. */
  freshSignIn: 10 * 60,
  /** The cookie of a browser in which a user has signed in with a password or a passkey. */
  knownBrowser: 180 * 24 * 60 * 60,
} as const

/**
 * How long a refresh with the previous token returns the current one, for parallel
 * requests or lost responses.
 */
export const refreshGraceSeconds = 10

/**
 * How many live sessions a user can have (ASVS 7.1.2). The start of another session ends
 * the oldest one.
 */
export const maxLiveSessions = 100

/** How many passkeys a user can have. */
export const maxPasskeys = 20

/** The time that a browser has to show a prompt for a passkey. */
export const passkeyPromptMs = 5 * 60 * 1000

/**
 * After this many wrong TOTP codes in a row, only a recovery code or an operator unlocks
 * the second factor.
 */
export const maxSecondFactorFailures = 100

/** After this many wrong TOTP codes in a row, the user gets an email. */
export const noticedSecondFactorFailures = 10

/**
 * How many wrong passwords or codes are allowed in a window. Further attempts are
 * rejected until the window ends.
 */
export const passwordLimits = {
  windowSeconds: 15 * 60,
  perAccountAndNetwork: 10,
  perAccount: 100,
  perNetwork: 60,
  perKnownBrowser: 10,
  perSecondFactor: 10,
} as const
