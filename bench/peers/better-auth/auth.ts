import bcrypt from 'bcrypt'
import { betterAuth } from 'better-auth'
import { oneTimeToken } from 'better-auth/plugins/one-time-token'
import { pool } from './pool'

/**
 * better-auth with its defaults for production, except for settings that make it
 * comparable with the product.
 */
export const auth = betterAuth({
  baseURL: process.env.PUBLIC_URL,
  secret: process.env.BETTER_AUTH_SECRET,
  database: pool,
  plugins: [oneTimeToken()],
  emailAndPassword: {
    enabled: true,
    // the same hash as in lib/password/hash.ts
    password: {
      hash: (password) => bcrypt.hash(password, 12),
      verify: ({ hash, password }) => bcrypt.compare(password, hash),
    },
  },
  advanced: {
    // Without this, the rate limiter would count all clients under one IP address.
    ipAddress: { trustedProxies: ['127.0.0.1'] },
  },
  telemetry: { enabled: false },
})
