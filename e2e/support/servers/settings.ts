import { preload } from './preload'
import { mailPort } from './server'

// Settings of servers that the tests of several files share. A server with other settings
// runs only as long as the test or the file that asked for it.

/** Every optional feature but setup links. The fixture `smtp` receives the emails. */
export const allFeatures = {
  PASSWORD_SIGN_IN: 'true',
  SECOND_FACTOR: 'true',
  PASSKEYS: 'true',
  SCIM: 'true',
  SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
  MAIL_FROM: 'login@example.com',
  CRON_SECRET: 'the-cron-secret-of-the-tests',
}

/** The same, and users need a second factor. */
export const requiredFactor = { ...allFeatures, SECOND_FACTOR: 'required' }

/** Passwords without email and without a second factor. */
export const passwordSignIn = { PASSWORD_SIGN_IN: 'true' }

/** Values that differ from the defaults. None of these settings affects another one. */
export const otherValues = {
  PUBLIC_URL: 'https://login.example.com',
  PASSWORD_SIGN_IN: 'true',
  PASSWORD_MIN_LENGTH: '15',
  SIGN_IN_URL: '/x',
  FORGOT_PASSWORD_URL: 'https://www.example.com/forgot',
  WIDGET_SIGNING_KEYS: '',
  ID_TOKEN_SIGNING_KEYS: '',
}

/** The clock is right until `shiftClock` changes it. */
export const shiftedClock = {
  ...allFeatures,
  ...preload('cheap-hash.mjs', 'shifted-clock.mjs'),
}

/** No database listens at this URL. */
export const unreachableDatabase = {
  DATABASE_URL: 'postgresql://user:secret-of-the-database@127.0.0.1:9/nowhere',
}

export const fewRequests = { RATE_LIMIT_REQUESTS: '4' }

export const sharedSettings: Record<string, string>[] = [
  {},
  allFeatures,
  requiredFactor,
  passwordSignIn,
  otherValues,
  shiftedClock,
  unreachableDatabase,
  fewRequests,
]
