import * as routes from '../../../lib/contract/routes'
import { newPasswordUser } from '../databases/password-user'
import { newFactorUser } from '../databases/second-factor'
import {
  cookiesOf,
  exchangePath,
  expect,
  newCode,
  newToken,
  type Sql,
  type TestServer,
} from '../fixtures'
import { expireToken } from './expired-token'

/** `expired`: the JWT of the session has expired, and its refresh token has not. */
export const sessionStates = ['signed in', 'signed out', 'expired'] as const
export type SessionState = (typeof sessionStates)[number]

/** How a page is visited, in this order. */
export type Visit = 'open' | 'reload' | 'back' | 'second tab'

type Row = {
  /** `{code}` and `{token}` are new secrets of the user. */
  path: string
  hasForm?: true
  /** The user has a second factor. `asked`: and has just entered the password. */
  factor?: 'set up' | 'asked'
  /** The heading that the user must see. By default, the one of `signed in`. */
  seen: { 'signed in': Seen } & { [state in SessionState]?: Seen }
}

/** The heading of every visit, or of some, for which the one of `open` is the default. */
type Seen = string | ({ open: string } & { [visit in Visit]?: string })

const signedIn = 'You’re signed in'
const signedOut = 'You’re not signed in'
const form = 'Sign in to Dashboard'
const noCode = 'We couldn’t find your sign-in'
// the code has left the URL
const usedCode = { open: 'This sign-in isn’t valid', reload: noCode, back: noCode }
const always = (heading: string) => ({ 'signed in': heading })
const ifSignedIn = (heading: string, other: string) => ({
  'signed in': heading,
  'signed out': other,
})

/** Every page, and what is seen there at every visit. */
export const pageTable: Row[] = [
  { path: '/', seen: ifSignedIn(signedIn, signedOut) },
  { path: '/?signed-out', seen: ifSignedIn(signedIn, 'You’ve been signed out') },
  { path: '/sign-in', hasForm: true, seen: ifSignedIn(signedIn, form) },
  { path: '/sign-in?step=password', hasForm: true, seen: always(form) },
  { path: '/sign-in?another', hasForm: true, seen: always(form) },
  { path: '/sign-in', hasForm: true, factor: 'asked', seen: always('Confirm it’s you') },
  { path: '/forgot-password', hasForm: true, seen: always('Reset your password') },
  { path: '/forgot-password?sent', seen: always('Check your email') },
  {
    path: '/reset-password?token={token}',
    hasForm: true,
    seen: always('Choose a new password'),
  },
  { path: '/reset-password?token=x', seen: always('This link isn’t valid') },
  { path: '/reset-password', seen: always('Open the link from your email') },
  { path: '/reset-password/done', seen: always('Your password has been changed') },
  { path: '/sso/callback?code={code}', seen: always(signedIn) },
  {
    path: '/sso/callback?code=x',
    seen: {
      'signed in': signedIn,
      'signed out': usedCode,
      expired: usedCode, // “Continue” renews the session
    },
  },
  {
    path: '/sso/callback',
    seen: { 'signed in': signedIn, 'signed out': noCode, expired: noCode },
  },
  { path: '/sso/callback?error=access_denied', seen: always('You weren’t signed in') },
  { path: '/account', hasForm: true, seen: ifSignedIn('Your account', signedOut) },
  {
    path: '/account?change=setUp',
    hasForm: true,
    seen: ifSignedIn('Set up your authenticator app', signedOut),
  },
  {
    path: '/account?change=newCodes',
    hasForm: true,
    factor: 'set up',
    seen: ifSignedIn('Get new recovery codes', signedOut),
  },
  {
    path: '/account?change=switchOff',
    hasForm: true,
    factor: 'set up',
    seen: ifSignedIn('Switch off your authenticator app', signedOut),
  },
  {
    path: '/account?change=addPasskey',
    hasForm: true,
    seen: ifSignedIn('Add a passkey', signedOut),
  },
  {
    path: '/account/passkey?next=/',
    hasForm: true,
    seen: {
      'signed in': 'Sign in faster next time',
      'signed out': signedOut,
      // the first visit leads to the start page, which renews the session
      expired: { open: signedIn, 'second tab': 'Sign in faster next time' },
    },
  },
  {
    path: routes.signOutForClient.path,
    hasForm: true,
    seen: ifSignedIn('Do you want to sign out?', 'You’ve been signed out'),
  },
  { path: '/reference', seen: always('API reference') },
  { path: '/nothing', seen: always('Page not found') },
]

/** Returns what a user sees on a page at a visit. */
export function seenOn({ seen }: Row, state: SessionState, visit: Visit): string {
  const heading = seen[state] ?? seen['signed in']
  if (typeof heading === 'string') return heading

  return heading[visit] ?? heading.open
}

/** Returns a path with new secrets of a new user, and the cookies of the browser. */
export async function prepareRow(
  server: TestServer,
  sql: Sql,
  { path, factor }: Row,
  state: SessionState,
): Promise<{ path: string; cookies: Record<string, string> }> {
  const user = await (factor ? newFactorUser(sql) : newPasswordUser(sql, { cost: 4 }))
  const cookies: Record<string, string> = {}

  if (state !== 'signed out') {
    const { email, password } = user
    const response = factor
      ? await server.post(exchangePath, { code: await newCode(user) })
      : await server.post(routes.signIn.path, { email, password })
    Object.assign(cookies, cookiesOf(response))
    if (state === 'expired') cookies.session = expireToken(cookies.session!)
  }

  if (factor === 'asked') {
    const { email, password } = user
    const response = await server.post(routes.signIn.path, { email, password })
    Object.assign(cookies, cookiesOf(response))
    expect(cookies.challenge).toBeTruthy()
  }

  const code = path.includes('{code}') ? await newCode(user) : ''
  const token = path.includes('{token}') ? await newToken(user) : ''

  return { path: path.replace('{code}', code).replace('{token}', token), cookies }
}
