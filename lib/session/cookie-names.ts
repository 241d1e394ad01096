/** All cookies of this service but the language. */
export const cookieNames = [
  'session',
  'refresh',
  'browser',
  'known',
  'challenge',
  'enrolment',
  'ask',
  'again',
  'try',
  'setup',
] as const
