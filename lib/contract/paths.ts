/** The paths of the operations. In a file of their own, because pages need them without the schemas. */
export const paths = {
  exchangeSsoCode: '/api/auth/sso/exchange',
  resetPassword: '/api/auth/reset-password',
  getSigningKeys: '/.well-known/jwks.json',
  getHealth: '/api/health',
  getReadiness: '/api/health/ready',
} as const
