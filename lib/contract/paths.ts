/** The paths of the operations. A separate file, so that the browser does not load the schemas. */
export const paths = {
  exchangeSsoCode: '/api/auth/sso/exchange',
  findSsoConnection: '/api/auth/sso/find',
  signIn: '/api/auth/sign-in',
  resetPassword: '/api/auth/reset-password',
  forgotPassword: '/api/auth/forgot-password',
  refreshSession: '/api/auth/refresh',
  getSession: '/api/auth/session',
  signOut: '/api/auth/sign-out',
  getSigningKeys: '/.well-known/jwks.json',
  getHealth: '/api/health',
  getReadiness: '/api/health/ready',
} as const
