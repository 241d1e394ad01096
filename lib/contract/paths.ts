// The paths of the operations. A separate file without schemas, and a constant for each, so that a
// page loads only those that it uses.
export const exchangeSsoCode = '/api/auth/sso/exchange'
export const authorize = '/api/auth/authorize'
export const findSsoConnection = '/api/auth/sso/find'
export const signIn = '/api/auth/sign-in'
export const resetPassword = '/api/auth/reset-password'
export const forgotPassword = '/api/auth/forgot-password'
export const refreshSession = '/api/auth/refresh'
export const getSession = '/api/auth/session'
export const signOut = '/api/auth/sign-out'
export const getSigningKeys = '/.well-known/jwks.json'
export const getHealth = '/api/health'
export const getReadiness = '/api/health/ready'
