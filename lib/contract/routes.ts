// Every route: its name in the log, its method, and its path. One constant each, so that a
// page loads only what it uses.

// The operations of the contract
export const exchangeSsoCode = {
  name: 'sso-exchange',
  method: 'POST',
  path: '/api/auth/sso/exchange',
} as const
export const signIn = {
  name: 'sign-in',
  method: 'POST',
  path: '/api/auth/sign-in',
} as const
export const signInSecondFactor = {
  name: 'sign-in-second-factor',
  method: 'POST',
  path: '/api/auth/sign-in/second-factor',
} as const
export const getPasskeySignInOptions = {
  name: 'sign-in-passkey-options',
  method: 'GET',
  path: '/api/auth/sign-in/passkey/options',
} as const
export const signInWithPasskey = {
  name: 'sign-in-passkey',
  method: 'POST',
  path: '/api/auth/sign-in/passkey',
} as const
export const listPasskeys = {
  name: 'passkeys',
  method: 'GET',
  path: '/api/auth/passkeys',
} as const
export const startPasskey = {
  name: 'passkey-options',
  method: 'POST',
  path: '/api/auth/passkeys/options',
} as const
export const addPasskey = {
  name: 'passkey-add',
  method: 'POST',
  path: '/api/auth/passkeys/add',
} as const
export const renamePasskey = {
  name: 'passkey-rename',
  method: 'POST',
  path: '/api/auth/passkeys/rename',
} as const
export const removePasskey = {
  name: 'passkey-remove',
  method: 'POST',
  path: '/api/auth/passkeys/remove',
} as const
export const getSecondFactor = {
  name: 'second-factor',
  method: 'GET',
  path: '/api/auth/second-factor',
} as const
export const startSecondFactor = {
  name: 'second-factor-start',
  method: 'POST',
  path: '/api/auth/second-factor/start',
} as const
export const confirmSecondFactor = {
  name: 'second-factor-confirm',
  method: 'POST',
  path: '/api/auth/second-factor/confirm',
} as const
export const replaceRecoveryCodes = {
  name: 'second-factor-recovery-codes',
  method: 'POST',
  path: '/api/auth/second-factor/recovery-codes',
} as const
export const removeSecondFactor = {
  name: 'second-factor-remove',
  method: 'POST',
  path: '/api/auth/second-factor/remove',
} as const
export const resetPassword = {
  name: 'reset-password',
  method: 'POST',
  path: '/api/auth/reset-password',
} as const
export const changePassword = {
  name: 'password-change',
  method: 'POST',
  path: '/api/auth/change-password',
} as const
export const forgotPassword = {
  name: 'forgot-password',
  method: 'POST',
  path: '/api/auth/forgot-password',
} as const
export const refreshSession = {
  name: 'refresh',
  method: 'POST',
  path: '/api/auth/refresh',
} as const
export const getSession = {
  name: 'session',
  method: 'GET',
  path: '/api/auth/session',
} as const
export const listSessions = {
  name: 'sessions',
  method: 'GET',
  path: '/api/auth/sessions',
} as const
export const endSessions = {
  name: 'end-sessions',
  method: 'POST',
  path: '/api/auth/sessions/end',
} as const
export const signOut = {
  name: 'sign-out',
  method: 'POST',
  path: '/api/auth/sign-out',
} as const
export const getSigningKeys = {
  name: 'jwks',
  method: 'GET',
  path: '/.well-known/jwks.json',
} as const
export const startWidgetSession = {
  name: 'widget-session',
  method: 'POST',
  path: '/api/widget/session',
} as const
export const getWidgetKeys = {
  name: 'widget-jwks',
  method: 'GET',
  path: '/.well-known/widget-jwks.json',
} as const
export const getIdTokenKeys = {
  name: 'openid-jwks',
  method: 'GET',
  path: '/.well-known/openid-jwks.json',
} as const
export const issueTokens = {
  name: 'token',
  method: 'POST',
  path: '/api/auth/token',
} as const
export const getUserInfo = {
  name: 'userinfo',
  method: 'GET',
  path: '/api/auth/userinfo',
} as const
export const revokeToken = {
  name: 'revoke',
  method: 'POST',
  path: '/api/auth/revoke',
} as const
export const getProvider = {
  name: 'openid-configuration',
  method: 'GET',
  path: '/.well-known/openid-configuration',
} as const
export const getAuthorizationServer = {
  name: 'oauth-authorization-server',
  method: 'GET',
  path: '/.well-known/oauth-authorization-server',
} as const
export const getHealth = { name: 'health', method: 'GET', path: '/api/health' } as const
export const getReadiness = {
  name: 'health-ready',
  method: 'GET',
  path: '/api/health/ready',
} as const

// Requests of programs, by protocols of their own: RFC 7644, and OpenID Connect
// Back-Channel Logout (see `endProviderSession`).
export const scim = {
  name: 'scim',
  method: 'GET',
  path: '/api/scim/v2',
} as const

// Requests of the page /setup, which the holder of a setup link uses
export const openSetup = {
  name: 'setup',
  method: 'POST',
  path: '/api/setup/open',
} as const
export const saveSetup = {
  name: 'setup',
  method: 'POST',
  path: '/api/setup/save',
} as const
export const testSetup = {
  name: 'setup',
  method: 'GET',
  path: '/api/setup/test',
} as const
export const applySetup = {
  name: 'setup',
  method: 'POST',
  path: '/api/setup/apply',
} as const

// Targets of forms, redirects and links. Their answers are pages or redirects.
export const authorize = {
  name: 'authorize',
  method: 'GET',
  path: '/api/auth/authorize',
} as const
export const signOutForClient = {
  name: 'end-session',
  method: 'GET',
  path: '/api/auth/end-session',
} as const
export const findSsoConnection = {
  name: 'sso-find',
  method: 'POST',
  path: '/api/auth/sso/find',
} as const
export const startSso = {
  name: 'sso-start',
  method: 'GET',
  path: '/api/auth/sso/{connection}/start',
} as const
export const finishOidc = {
  name: 'sso-callback',
  method: 'GET',
  path: '/api/auth/sso/{connection}/callback',
} as const
export const finishSaml = {
  name: 'sso-acs',
  method: 'POST',
  path: '/api/auth/sso/{connection}/acs',
} as const
export const endProviderSession = {
  name: 'sso-backchannel-logout',
  method: 'POST',
  path: '/api/auth/sso/{connection}/backchannel-logout',
} as const
export const getSamlMetadata = {
  name: 'sso-metadata',
  method: 'GET',
  path: '/api/auth/sso/{connection}/metadata',
} as const
export const updateAccount = {
  name: 'account-page',
  method: 'POST',
  path: '/account/update',
} as const
export const sendResetLink = {
  name: 'forgot-password-page',
  method: 'POST',
  path: '/forgot-password/send',
} as const
export const signOutOfPages = {
  name: 'sign-out-page',
  method: 'POST',
  path: '/sign-out',
} as const
export const changePasswordElsewhere = {
  name: 'change-password',
  method: 'GET',
  path: '/.well-known/change-password',
} as const
export const getOpenApi = {
  name: 'openapi',
  method: 'GET',
  path: '/openapi.json',
} as const
export const runCleanUp = {
  name: 'clean-up',
  method: 'GET',
  path: '/api/cron/clean-up',
} as const
export const sendMails = {
  name: 'mail',
  method: 'GET',
  path: '/api/cron/mail',
} as const
