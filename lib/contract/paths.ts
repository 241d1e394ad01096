/** The paths of the operations. A separate file, so that the browser does not load the schemas. */
export const paths = {
  exchangeSsoCode: '/api/auth/sso/exchange',
  resetPassword: '/api/auth/reset-password',
  getSigningKeys: '/.well-known/jwks.json',
  getHealth: '/api/health',
  getReadiness: '/api/health/ready',
} as const
