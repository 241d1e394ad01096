import type { SubstituteName } from '../../lib/brand/substitute-page'
import * as routes from '../../lib/contract/routes'

/** The state of a reset link that the page opens. */
export type LinkState = 'live' | 'used' | 'expired'

/** A response of the API, no response, or a lost connection. */
export type Mock =
  | { status: number; headers: Record<string, string>; body: object }
  | 'none'
  | 'lost'

/**
 * An action of the user on the first element that matches a selector, as soon as it
 * exists.
 */
export type Step =
  | ['see' | 'press', string]
  /** `type` enters a text by hand, `fill` as a password manager does. */
  | ['fill' | 'type', string, string]
  | ['disconnect']

export type State = {
  /** The heading of the page, in English. `{app}` is the product's name. */
  title: string
  path: string
  /** Adds the token of a reset link in this state to the path. */
  link?: LinkState
  mocks?: Record<string, Mock>
  offline?: boolean
  /** The email address that the user typed earlier. */
  email?: string
  /** The problem with the page's own scripts. */
  scripts?: 'late' | 'failed' | 'replaced'
  steps?: Step[]
  /** The page that the server sends instead of the page at the path. */
  substitute?: SubstituteName
  /** Whether the server sends a page without React. */
  isPlain?: true
  /**
   * The digest of an error that the page throws. If it is not a string, the error page
   * fails too.
   */
  digest?: string | object
  /**
   * Whether the state exists only with PASSWORD_SIGN_IN (true) or only without it
   * (false).
   */
  passwords?: boolean
  /** The state exists only if the app sends email. */
  mail?: true
  /** The state exists only if users can set up a second factor. */
  secondFactor?: true
  /** The state exists only if a second factor is required. */
  required?: true
  /** The state exists only if users can have passkeys. */
  passkeys?: true
  /**
   * The error with which the browser ends a prompt for a passkey. `none`: it waits.
   * `created`: it creates one.
   */
  prompt?: string
  /**
   * The user who is signed in: with a password, without one, with an authenticator app,
   * with passkeys, or with passkeys and recovery codes. A user with a password is at the
   * second step of /sign-in, if there is one.
   */
  signedIn?: 'password' | 'sso' | 'factor' | 'passkey' | 'passkeyFactor'
}

const forgotTitle = 'Reset your password'
const tooMany = 'Your network has made too many requests'
const typed = 'lantern otter meadow'
const ada = 'ada@example.com'
const confirmTitle = 'Confirm it’s you'
const exchange = routes.exchangeSsoCode.path
const reset = routes.resetPassword.path
const signIn = routes.signIn.path

const limited = rejection(429, { code: 'RATE_LIMITED' }, 700)
const unavailable = (seconds: number) =>
  rejection(503, { code: 'SERVICE_UNAVAILABLE' }, seconds)
const failed = rejection(500, { code: 'INTERNAL_ERROR' })
const accepted = acceptance({ token: 'x', refreshToken: 'x' })

const tenCodes = Array.from(
  { length: 10 },
  (_, index) => `7K3M9Q-XAT2VD-HB5RW8-0FJCN${index}`,
)

const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const uri = `otpauth://totp/Dashboard:ada%40example.com?issuer=Dashboard&secret=${secret}`

const submitButton = 'button[type=submit]'
const chooseApp: Step[] = [['press', '.way-on .button']]
const retryButton = '.actions button'
const stillSending = 'p[role=status] > span:not([class])'

/** Every state of the pages, and how to reach it. */
export const states: Record<string, State> = {
  'start page: signed out': { title: 'You’re not signed in', path: '/' },
  'start page: just signed out': {
    title: 'You’ve been signed out',
    path: '/?signed-out',
  },
  'start page: signed in': { title: 'You’re signed in', path: '/', signedIn: 'sso' },
  'sign-out: question of a client': {
    title: 'Do you want to sign out?',
    path: routes.signOutForClient.path,
    isPlain: true,
    signedIn: 'sso',
  },

  'error: page not found': { title: 'Page not found', path: '/nothing' },
  'error: too many requests': substituted('rateLimitedPage', tooMany),
  'error: unavailable': substituted(
    'unavailablePage',
    'This page isn’t available right now',
  ),
  'error: long URL': substituted('longUrlPage', 'The web address is too long'),
  'error: sign-in of a dashboard': substituted(
    'authorizePage',
    'This sign-in can’t start',
  ),
  'error: single logout': substituted(
    'singleLogoutPage',
    'You weren’t signed out of {app}',
  ),
  'error: page that fails': { ...failing('618968322'), steps: [['see', '.reference']] },
  'error: crash': { ...failing({}), steps: [['see', 'main div[lang=ar]']] },

  'sso: working': landing('Signing you in', 'none'),
  'sso: still working': {
    ...landing('Signing you in', 'none'),
    steps: [['see', '.actions']],
  },
  'sso: signed in': landing('You’re signed in', accepted),
  'sso: signed in already': {
    ...landing(
      'You’re already signed in',
      rejection(400, { code: 'SSO_EXCHANGE_INVALID' }),
    ),
    mocks: {
      [exchange]: rejection(400, { code: 'SSO_EXCHANGE_INVALID' }),
      [routes.getSession.path]: {
        status: 200,
        headers: {},
        body: { ok: true, user: { email: 'ada@example.com' } },
      },
    },
    steps: [['see', 'h1:not(:empty)']],
  },
  'sso: used or expired': landing(
    'This sign-in isn’t valid',
    rejection(400, { code: 'SSO_EXCHANGE_INVALID' }),
  ),
  'sso: no code': { title: 'We couldn’t find your sign-in', path: '/sso/callback' },
  'sso: too many requests': landing(
    tooMany,
    rejection(429, { code: 'RATE_LIMITED' }, 20),
  ),
  'sso: too many requests, long wait': landing(tooMany, limited),
  'sso: unavailable': {
    ...landing('Sign-in isn’t available right now', unavailable(1)),
    steps: [['see', `${retryButton}[aria-disabled=false]`]],
  },
  'sso: unavailable after three retries': {
    ...landing('Sign-in still isn’t working', unavailable(1)),
    steps: retryThrice(retryButton, '.actions:not(:has(button))'),
  },
  'sso: offline': {
    ...landing('You’re offline', 'none'),
    offline: true,
    steps: [['see', '.actions']],
  },
  'sso: outcome unknown': landing('We lost the connection', 'lost'),
  'sso: failed': landing('We couldn’t sign you in', failed),
  'sso: scripts fail to load': {
    ...landing('This page didn’t load completely', 'none'),
    scripts: 'failed',
    steps: [['see', '.not-loaded']],
  },
  'sso: scripts were replaced': {
    ...landing('This page has been updated', 'none'),
    scripts: 'replaced',
    steps: [['see', '.outdated']],
  },
  ...Object.fromEntries(
    Object.entries({
      access_denied: 'You weren’t signed in',
      login_required: 'Sign in to your organization again',
      temporarily_unavailable: 'Sign-in at your organization isn’t available',
      server_error: 'Sign-in at your organization had a problem',
      attempt_invalid: 'This sign-in can’t be continued',
      response_invalid: 'We couldn’t verify your sign-in',
      no_access: 'You don’t have access to {app}',
      connection_unavailable: 'This way to sign in isn’t available',
      unavailable: 'Sign-in isn’t available right now',
      something_else: 'Your organization’s sign-in service didn’t sign you in',
    }).map(([error, title]) => [
      `sso: provider error ${error}`,
      { title, path: `/sso/callback?error=${error}&error_description=<b>Call+555</b>` },
    ]),
  ),

  'sign in: going to a provider': {
    title: 'Taking you to your organization',
    path: '/sign-in?connection=local',
  },
  'sign in: form': { title: 'Sign in to {app}', path: '/sign-in', passwords: false },
  'sign in: form with an error': {
    title: 'Sign in to {app}',
    path: '/sign-in?error=unknown',
    passwords: false,
  },

  'password sign-in: email first': signInForm(''),
  'password sign-in: password': passwordStep([]),
  'password sign-in: both at once, shown': signInForm('?step=password', [
    ['press', '.show'],
    ['fill', '#password', typed],
  ]),
  'password sign-in: no email address': signInForm('', [
    ['fill', '#email', 'ada@localhost'],
    ['press', submitButton],
    ['see', '#email-error'],
  ]),
  'password sign-in: wrong': passwordSent(
    rejection(400, { code: 'SIGN_IN_INVALID' }),
    '#password-error',
  ),
  'password sign-in: sending': passwordSent('none', '[data-busy]'),
  'password sign-in: still sending': passwordSent('none', stillSending),
  'password sign-in: too many attempts': passwordSent(limited, '.banner'),
  'password sign-in: unavailable': passwordSent(unavailable(5), '.banner'),
  'password sign-in: outcome unknown': passwordSent('lost', '.banner'),
  'password sign-in: failed': passwordSent(failed, '.reference'),
  'password sign-in: offline': passwordStep([
    ['disconnect'],
    ['fill', '#password', typed],
    ['press', submitButton],
    ['see', '.banner'],
  ]),
  'password sign-in: scripts fail to load': {
    ...signInForm('?step=password', [['see', '.not-loaded']]),
    scripts: 'failed',
  },
  'password sign-in: scripts were replaced': {
    ...signInForm('?step=password', [['see', '.outdated']]),
    scripts: 'replaced',
  },

  'passkey: waiting': passkeySignIn('none', '.passkey .link'),
  'passkey: cancelled': passkeySignIn('NotAllowedError', '.passkey .field-error'),
  'passkey: wrong address': passkeySignIn('SecurityError', '.passkey .field-error'),

  'second factor: code': factorStep([]),
  'second factor: recovery code': factorStep([['press', '.link']]),
  'second factor: passkey or recovery code': {
    ...factorStep([['see', '.passkey button']]),
    passkeys: true,
    signedIn: 'passkeyFactor',
  },
  'second factor: wrong': factorSent(
    invalid('code', 'wrong_code', 'SECOND_FACTOR_INVALID'),
    '#code-error',
  ),
  'second factor: used': factorSent(
    invalid('code', 'used_code', 'SECOND_FACTOR_INVALID'),
    '#code-error',
  ),
  'second factor: locked': factorSent(
    rejection(403, { code: 'SECOND_FACTOR_LOCKED' }),
    '#code-error',
  ),
  'second factor: too many attempts': factorSent(limited, '.banner'),
  'second factor: outcome unknown': factorSent('lost', '.banner'),
  'second factor: expired': { ...signInForm('?step=password&error=expired'), email: ada },
  'second factor: only a passkey': { ...factorSetUp([], 'passkey'), title: confirmTitle },
  'second factor: only a passkey, waiting': {
    ...factorSetUp(
      [
        ['press', submitButton],
        ['see', '.note .link'],
      ],
      'passkey',
    ),
    title: confirmTitle,
    prompt: 'none',
  },

  'set-up: passkey': factorSetUp([]),
  'set-up: passkey, waiting': passkeySetUp('none', '.way-on .link'),
  'set-up: passkey, cancelled': passkeySetUp('NotAllowedError', '.field-error'),
  'set-up: passkey, outcome unknown': {
    ...passkeySetUp('created', '.banner'),
    mocks: { [routes.addPasskey.path]: 'lost' },
  },
  'set-up: passkey, recovery codes': {
    ...passkeySetUp('created', '.codes'),
    title: 'Save your recovery codes',
    mocks: { [routes.addPasskey.path]: acceptance({ recoveryCodes: tenCodes }) },
  },
  'set-up: passkey, recovery codes were lost': {
    ...passkeySetUp('created', '.icon.unclear'),
    title: 'Your recovery codes weren’t shown',
    mocks: { [routes.addPasskey.path]: acceptance({ recoveryCodes: [] }) },
  },
  'set-up: app, sending': {
    ...factorSetUp([...chooseApp, ['see', '[data-busy]']]),
    mocks: { [routes.startSecondFactor.path]: 'none' },
  },
  'set-up: app, too many attempts': {
    ...factorSetUp([...chooseApp, ['see', '.banner']]),
    mocks: { [routes.startSecondFactor.path]: limited },
  },
  'set-up: app, secret': appSetUp([]),
  'set-up: app, wrong': appSetUp(
    [
      ['fill', '#code', '123456'],
      ['press', submitButton],
      ['see', '#code-error'],
    ],
    invalid('code', 'wrong_code', 'SECOND_FACTOR_INVALID'),
  ),

  'forgot password: form': { title: forgotTitle, path: '/forgot-password', mail: true },
  'forgot password: form with an error': {
    title: forgotTitle,
    path: '/forgot-password?invalid',
    mail: true,
  },
  'forgot password: offline': {
    title: forgotTitle,
    path: '/forgot-password',
    mail: true,
    offline: true,
    mocks: { [routes.forgotPassword.path]: 'none' },
    steps: [
      ['fill', '#email', 'ada@example.com'],
      ['press', submitButton],
      ['see', '.banner'],
    ],
  },
  'forgot password: sent': {
    title: 'Check your email',
    path: '/forgot-password?sent',
    mail: true,
    email: ada,
  },

  'reset: form': resetForm([]),
  'reset: form, weak password': resetForm([
    ['type', '#password', 'sunshine1'],
    ['see', '.strength[data-strength]'],
  ]),
  'reset: form, strong password shown': resetForm([
    ['press', '.show'],
    ['type', '#password', typed],
    ['see', '.strength[data-strength]'],
  ]),
  'reset: form with an error': resetSent(
    invalid('password', 'too_guessable'),
    '#password-error',
  ),
  'reset: sending': resetSent('none', '[data-busy]'),
  'reset: still sending': resetSent('none', stillSending),
  'reset: submitted before the scripts have loaded': {
    ...resetSent('none', '.early'),
    scripts: 'late',
  },
  'reset: scripts fail to load': {
    ...resetSent('none', '.not-loaded'),
    scripts: 'failed',
  },
  'reset: scripts were replaced': {
    ...resetSent('none', '.outdated'),
    scripts: 'replaced',
  },
  'reset: accepted': {
    ...resetSent(accepted, '.icon'),
    title: 'Your password has been changed',
  },
  'reset: link that the server rejected': {
    ...resetSent(invalid('token', 'invalid_or_expired'), '.icon'),
    title: 'This link no longer works',
  },
  'reset: used link': {
    title: 'This link has already been used',
    path: '/reset-password',
    link: 'used',
  },
  'reset: expired link': {
    title: 'This link has expired',
    path: '/reset-password',
    link: 'expired',
  },
  'reset: unknown link': {
    title: 'This link isn’t valid',
    path: '/reset-password?token=x',
  },
  'reset: password changed, reloaded': {
    title: 'Your password has been changed',
    path: '/reset-password/done',
  },
  'reset: no link': { title: 'Open the link from your email', path: '/reset-password' },
  'reset: too many requests': resetSent(limited, '.banner'),
  'reset: unavailable': resetSent(unavailable(1), `${submitButton}[aria-disabled=false]`),
  'reset: unavailable after three retries': (() => {
    const { steps, ...state } = resetSent(unavailable(1), '.banner')
    return {
      ...state,
      steps: [
        ...steps!,
        ...retryThrice(submitButton, `${submitButton}[aria-disabled=true]`),
      ],
    }
  })(),
  'reset: offline': { ...resetSent('none', '.banner'), offline: true },
  'reset: outcome unknown': {
    ...resetSent(
      rejection(503, { code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' }, 5),
      '.icon',
    ),
    title: 'We lost the connection',
  },
  'reset: failed': {
    ...resetSent(failed, '.reference'),
    title: 'We couldn’t change your password',
  },

  'account: password': account(''),
  'account: done': account('?done=changed'),
  'account: wrong password': account('?problem=wrong'),
  'account: new password rejected': account('?problem=too_guessable'),
  'account: too many attempts': account('?problem=limited'),
  'account: wrong password, with scripts': newPasswordSent(
    rejection(400, { code: 'SIGN_IN_INVALID' }),
    'form:has(#current-error) .strength[data-strength]',
  ),
  'account: outcome unknown': newPasswordSent('lost', '.banner'),
  'account: no password': account('', 'sso'),
  'account: second factor': account('', 'factor'),
  'account: second factor is a passkey': {
    ...account('', 'passkeyFactor'),
    passkeys: true,
  },
  'account: a required second factor without codes': {
    ...account('', 'passkey'),
    ...{ required: true, passkeys: true },
  },
  'account: new codes, proven by a passkey': requiredChange('newCodes', 'passkey'),
  'account: new codes, sign in again': requiredChange('newCodes', 'passkeyFactor'),
  'account: switch off, required': {
    ...requiredChange('switchOff', 'factor'),
    title: 'Switch off your authenticator app',
  },
  'account: passkeys': { ...passkeyPage(''), title: 'Your account' },
  'account: passkeys, opened': {
    ...passkeyPage(''),
    title: 'Your account',
    steps: [
      ['press', '#passkeys li:last-child details:first-of-type summary'],
      ['press', '#passkeys li:last-child details:last-of-type summary'],
    ],
  },
  'account: sign in again for passkeys': {
    ...account('?problem=signInAgain'),
    passkeys: true,
  },
  'account: add a passkey': passkeyPage('?change=addPasskey'),
  'account: add a passkey, sign in again': {
    ...account('?change=addPasskey'),
    title: 'Add a passkey',
    passkeys: true,
  },
  'account: add a passkey, waiting': passkeyAdding('none', '.way-on .link'),
  'account: add a passkey, cancelled': passkeyAdding('NotAllowedError', '.field-error'),
  'account: add a passkey, exists': passkeyAdding('InvalidStateError', '.success'),
  'account: offer of a passkey': {
    ...passkeyPage(''),
    title: 'Sign in faster next time',
    path: '/account/passkey?device&next=/',
  },
  'account: set up, password': setUp([]),
  'account: set up, secret': setUp([['see', '.qr path:not([d=""])']]),
  'account: set up, recovery codes': {
    ...setUp([
      ['fill', '#code', '123456'],
      ['press', submitButton],
      ['see', '.codes'],
    ]),
    title: 'Save your recovery codes',
  },
  'account: set up, recovery codes were lost': {
    ...setUp(
      [
        ['fill', '#code', '123456'],
        ['press', submitButton],
        ['see', '.icon.unclear'],
      ],
      [],
    ),
    title: 'Your recovery codes weren’t shown',
  },
  'account: switch off, wrong': {
    ...factorSent(invalid('code', 'wrong_code', 'SECOND_FACTOR_INVALID'), '#code-error', [
      ['fill', '#password', typed],
    ]),
    title: 'Switch off your authenticator app',
    path: '/account?change=switchOff',
  },
}

/** Returns the path at which the preview shows a state. */
export function createPath(name: string): string {
  return `/preview/${name.replace(/\W+/g, '-')}`
}

function rejection(status: number, body: object, retryAfter?: number): Mock {
  return {
    status,
    headers: retryAfter ? { 'Retry-After': String(retryAfter) } : {},
    body: {
      ok: false,
      message: 'A message for programmers.',
      requestId: '7f3c1f0a-58a1-4f53-9f25-3d1a0c2b9e11',
      ...body,
    },
  }
}

function invalid(field: string, code: string, of = 'VALIDATION_ERROR'): Mock {
  return rejection(400, { code: of, issues: [{ path: [field], code, message: '' }] })
}

function acceptance(body: object): Mock {
  return { status: 200, headers: {}, body: { ok: true, ...body } }
}

/** A page without scripts. */
function substituted(substitute: NonNullable<State['substitute']>, title: string): State {
  return { title, path: '/', substitute }
}

function failing(digest: NonNullable<State['digest']>): State {
  return { ...landing('Something went wrong', failed), digest }
}

/** The page that exchanges a code. It stays open after a success. */
function landing(title: string, response: Mock): State {
  const isError = response === 'lost' || (response !== 'none' && response.status >= 400)
  const steps: Step[] = isError ? [['see', '.actions']] : []
  return {
    title,
    path: '/sso/callback?code=x&next=/preview/stay',
    mocks: { [exchange]: response },
    steps,
  }
}

function signInForm(query: string, steps: Step[] = []): State {
  return { title: 'Sign in to {app}', path: `/sign-in${query}`, passwords: true, steps }
}

function passwordStep(steps: Step[]): State {
  return {
    title: 'Enter your password',
    path: '/sign-in',
    passwords: true,
    steps: [
      ['fill', '#email', 'ada@example.org'],
      ['press', submitButton],
      ['see', '#password'],
      ...steps,
    ],
  }
}

function passwordSent(response: Mock, until: string): State {
  const steps: Step[] = [
    ['fill', '#password', typed],
    ['press', submitButton],
    ['see', until],
  ]
  return { ...passwordStep(steps), mocks: { [signIn]: response } }
}

function resetForm(steps: Step[]): State {
  return { title: 'Choose a new password', path: '/reset-password', link: 'live', steps }
}

function resetSent(response: Mock, until: string): State {
  const steps: Step[] = [
    ['fill', '#password', typed],
    ['press', submitButton],
    ['see', until],
  ]
  return { ...resetForm(steps), mocks: { [reset]: response } }
}

function factorStep(steps: Step[]): State {
  return {
    title: confirmTitle,
    path: '/sign-in',
    passwords: true,
    signedIn: 'factor',
    steps,
  }
}

function factorSent(response: Mock, until: string, before: Step[] = []): State {
  const steps: Step[] = [
    ...before,
    ['fill', '#code', '123456'],
    ['press', submitButton],
    ['see', until],
  ]

  const mocks = {
    [routes.signInSecondFactor.path]: response,
    [routes.removeSecondFactor.path]: response,
  }

  return { ...factorStep(steps), mocks }
}

/** What follows the password if a second factor is required. */
function factorSetUp(steps: Step[], signedIn: State['signedIn'] = 'password'): State {
  return {
    title: 'Set up a second factor',
    path: '/sign-in',
    ...{ passwords: true, required: true, passkeys: true, signedIn, steps },
  }
}

/** The set-up after its button was pressed, which creates a passkey. */
function passkeySetUp(prompt: string, until: string): State {
  const steps: Step[] = [
    ['press', submitButton],
    ['see', until],
  ]
  return { ...factorSetUp(steps), prompt }
}

/** The set-up after an authenticator app was chosen. */
function appSetUp(steps: Step[], confirmed: Mock = 'none'): State {
  return {
    ...factorSetUp([...chooseApp, ['see', '.qr path:not([d=""])'], ...steps]),
    title: 'Set up your authenticator app',
    mocks: {
      [routes.startSecondFactor.path]: acceptance({ secret, uri, enrolment: 'x' }),
      [routes.confirmSecondFactor.path]: confirmed,
    },
  }
}

/** The set-up of an authenticator app. Sends the password if there are more steps. */
function setUp(steps: Step[], recoveryCodes = tenCodes): State {
  const password: Step[] = [
    ['fill', '#password', typed],
    ['press', submitButton],
  ]

  return {
    ...account('?change=setUp'),
    title: 'Set up your authenticator app',
    secondFactor: true,
    mocks: {
      [routes.startSecondFactor.path]: acceptance({ secret, uri, enrolment: 'x' }),
      [routes.confirmSecondFactor.path]: acceptance({ recoveryCodes }),
    },
    steps: steps.length > 0 ? [...password, ...steps] : [],
  }
}

/** The account page after its password form was sent. */
function newPasswordSent(response: Mock, until: string): State {
  return {
    ...account(''),
    mocks: { [routes.changePassword.path]: response },
    steps: [
      ['fill', '#current', typed],
      ['fill', '#password', typed],
      ['press', `form:has(#password) ${submitButton}`],
      ['see', until],
    ],
  }
}

function account(query: string, signedIn: State['signedIn'] = 'password'): State {
  return { title: 'Your account', path: `/account${query}`, passwords: true, signedIn }
}

/** The page of a change of the second factor, if one is required. */
function requiredChange(change: string, signedIn: State['signedIn']): State {
  return {
    ...account(`?change=${change}`, signedIn),
    title: 'Get new recovery codes',
    ...{ required: true, passkeys: true },
  }
}

/** The sign-in page after the button of passkeys was pressed. */
function passkeySignIn(prompt: string, until: string): State {
  return {
    ...signInForm('?step=password', [
      ['see', '.passkey .button'],
      ['press', '.passkey .button'],
      ['see', until],
    ]),
    passkeys: true,
    prompt,
  }
}

/** A page of a user with passkeys, who has just signed in. */
function passkeyPage(query: string): State {
  return {
    ...account(query, 'passkey'),
    title: 'Add a passkey',
    passkeys: true,
  }
}

function passkeyAdding(prompt: string, until: string): State {
  return {
    ...passkeyPage('?change=addPasskey'),
    prompt,
    steps: [
      ['press', submitButton],
      ['see', until],
    ],
  }
}

/** Presses a button three times, each time as soon as it is enabled. */
function retryThrice(button: string, until: string): Step[] {
  const retry: Step[] = [
    ['see', `${button}[aria-disabled=false]`],
    ['press', button],
  ]
  const again: Step = ['see', `${button}[aria-disabled=true]`]
  return [...retry, again, ...retry, again, ...retry, ['see', until]]
}
