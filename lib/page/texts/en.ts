import { lifetimes } from '../../contract/lifetimes'
import type { PasswordIssueCode } from '../../contract/schemas'
import { inUnits } from '../relative-time'

const codeLifetime = lifetimes.code === 60 ? 'one minute' : inUnits(lifetimes.code, 'en')
const signInLifetime = inUnits(lifetimes.signIn, 'en')
const tokenLifetime = inUnits(lifetimes.resetToken, 'en')

/** All texts of the pages. Every other language has the same keys: see `Texts`. */
export const en = (app: string, passwordMinLength: number) => ({
  language: 'en',
  direction: 'ltr',
  app,
  shared: {
    requestId: 'Support reference:',
    tryAgain: 'Try again',
    waiting: 'You can try again {when}.',
    waitingForNetwork: 'You can try again once you’re online.',
    waited: 'You can try again now.',
    signIn: 'Sign in',
    signInAgain: 'Sign in again',
    goOn: 'Continue',
    home: 'Go to the home page',
    noScript: 'This page needs JavaScript',
    notLoaded: 'This page hasn’t loaded fully',
  },
  home: {
    signedIn: 'You’re signed in',
    as: 'Signed in as',
    until: 'Signed in until',
    open: `Open ${app}`,
    signOut: 'Sign out',
    signedOut: 'You’re not signed in',
    signedOutBody: `Sign in to continue to ${app}.`,
    signedOutWithoutLink: 'Start from the place where you usually sign in.',
    forgotPassword: 'Forgot your password?',
  },
  signIn: {
    body: 'Enter your work email address. It takes you to your organisation’s sign-in page.',
    label: 'Email address',
    submit: 'Continue',
    with: 'Sign in with {name}',
    errorPrefix: 'Error: ',
    invalidEmail: 'Enter an email address, like ada@example.com.',
    unknownEmail: 'We don’t know where this address signs in. Check it, or ask your administrator.',
    going: 'Taking you to your organisation',
    goingBody: 'You sign in with {name}, and then come back here.',
    bodyWithPassword: 'Enter your email address to continue.',
    password: 'Password',
    usePassword: 'Sign in with a password',
    passwordTitle: 'Enter your password',
    change: 'Change',
    changeLabel: 'Change email address',
    forgotPassword: 'Forgot your password?',
    early: 'Loading… Sign-in continues as soon as this page is ready.',
    sending: 'Signing you in',
    slow: 'Still signing you in. Keep this page open.',
    problem: 'There is a problem',
    wrongPassword: 'The email address or the password is wrong. Check both, then try again.',
    limited: {
      title: 'Sign-in is paused',
      body: 'There have been too many attempts with this address or from your network. You can try again {when}.',
    },
    unavailable: {
      title: 'Sign-in isn’t available right now',
      body: 'You’re not signed in. Wait a few seconds, then try again.',
    },
    offline: {
      title: 'You’re offline',
      body: 'Nothing was sent, and what you typed is still here. Connect to the internet, then try again.',
    },
    unknown: {
      title: 'We lost the connection',
      body: 'We can’t tell whether you’re signed in. Try again.',
    },
    failed: {
      title: 'We couldn’t sign you in',
      body: 'Something went wrong on our side. Try again; if it keeps happening, contact support with the reference below.',
    },
  },
  notFound: {
    title: 'Page not found',
    body: 'If you typed the web address, check it. If you followed a link, it may be incomplete or out of date.',
  },
  limitedPage: {
    title: 'Your network has made too many requests',
    body: 'You can open this page again {when}. Nothing has been lost.',
    reload: 'Open this page again',
  },
  error: {
    title: 'Something went wrong',
    body: 'This is our fault, not yours. Try again in a moment.',
  },
  sso: {
    noScript: 'Switch it on in your browser’s settings, then sign in again.',
    notLoaded: 'A part of it didn’t arrive. Check your connection, then sign in again.',
    working: 'Signing you in',
    workingBody: 'This takes a moment.',
    slow: 'Still signing you in. Keep this page open.',
    done: 'You’re signed in',
    doneBody: `Taking you to ${app}.`,
    used: {
      title: 'This sign-in can’t be used',
      body: `Each sign-in works once, for ${codeLifetime}, in the browser where you started it. Nothing is wrong with your account. If you’ve just signed in, continue; if not, sign in again.`,
    },
    noCode: {
      title: 'There’s nothing to sign in with',
      body: 'This page works right after you sign in with your organisation, and only once. If you’ve just signed in, continue; if not, sign in again.',
    },
    limited: {
      title: 'Too many attempts',
      body: 'There were too many requests from your network. You’re not signed in yet.',
    },
    limitedLong: {
      title: 'Too many attempts',
      body: 'There were too many requests from your network. You’re not signed in yet. You can sign in again {when}.',
    },
    unavailable: {
      title: 'Sign-in isn’t available right now',
      body: 'We couldn’t finish signing you in. Nothing was lost, and your account is fine.',
    },
    offline: {
      title: 'You’re offline',
      body: `Nothing was sent. Connect to the internet, then try again soon: this sign-in is only good for ${codeLifetime}.`,
    },
    unknown: {
      title: 'We don’t know if you’re signed in',
      body: 'The connection was lost before we heard back. You may be signed in already: continue to find out. If you’re not, sign in again.',
    },
    failed: {
      title: 'We couldn’t sign you in',
      body: 'Something went wrong on our side. Sign in again; if it keeps happening, contact support with the reference below.',
    },
    gaveUp: {
      title: 'It still isn’t working',
      body: 'We couldn’t finish signing you in. Wait a few minutes, then sign in again.',
    },
    rejected: {
      access_denied: {
        title: 'Sign-in was cancelled',
        body: 'Your organisation’s sign-in page didn’t allow this sign-in, or it was cancelled there. If you didn’t mean that, sign in again. If you should have access, ask your administrator.',
      },
      login_required: {
        title: 'Sign in again with your organisation',
        body: 'Your sign-in there has ended. Sign in again to start a new one.',
      },
      temporarily_unavailable: {
        title: 'Your organisation’s sign-in page isn’t available',
        body: 'It can’t sign anybody in right now. Wait a few minutes, then sign in again.',
      },
      server_error: {
        title: 'Your organisation’s sign-in page had a problem',
        body: 'It couldn’t complete the sign-in. Sign in again; if it keeps happening, tell your administrator.',
      },
      attempt_invalid: {
        title: 'This sign-in can’t be continued',
        body: `Each sign-in works once, for ${signInLifetime}, in the browser where you started it. Nothing is wrong with your account: sign in again.`,
      },
      response_invalid: {
        title: 'We couldn’t verify your sign-in',
        body: 'What your organisation’s sign-in page sent us isn’t right, so we didn’t use it. Sign in again; if it keeps happening, tell your administrator.',
      },
      no_access: {
        title: `You don’t have access to ${app}`,
        body: `Your organisation signed you in, but this account can’t be used with ${app}. Ask your administrator.`,
      },
      connection_unavailable: {
        title: 'This way to sign in isn’t available',
        body: 'It doesn’t exist, or it was switched off. Sign in another way, or ask your administrator.',
      },
      unavailable: {
        title: 'Sign-in isn’t available right now',
        body: 'We couldn’t finish signing you in. Nothing was lost, and your account is fine. Wait a few minutes, then sign in again.',
      },
      other: {
        title: 'Your organisation’s sign-in page didn’t sign you in',
        body: 'It ended the sign-in with an error. Sign in again; if it keeps happening, tell your administrator.',
      },
    },
  },
  reset: {
    noScript: 'Switch it on in your browser’s settings, then open the link from your email again.',
    notLoaded:
      'A part of it didn’t arrive, and your password can’t be saved yet. Check your connection, then open the link from your email again.',
    early: 'Loading… Your password will be saved as soon as this page is ready.',
    form: 'Choose a new password',
    formBody: `You’ll use it to sign in to ${app}. Every device that is signed in now will be signed out.`,
    label: 'New password',
    rules: [
      `At least ${passwordMinLength} characters.`,
      'Three or more unrelated words make a strong one that you can remember. Spaces are fine.',
    ],
    show: 'Show',
    hide: 'Hide',
    showLabel: 'Show password',
    hideLabel: 'Hide password',
    shown: 'Your password is visible.',
    hidden: 'Your password is hidden.',
    submit: 'Save password',
    sending: 'Saving your password',
    slow: 'Still saving. Keep this page open.',
    problem: 'There is a problem',
    errorPrefix: 'Error: ',
    strength: {
      short: 'Too short so far',
      weak: 'Easy to guess so far',
      good: 'Good: hard to guess',
      strong: 'Very strong',
    },
    issues: {
      too_short: `Use at least ${passwordMinLength} characters.`,
      too_long: 'Use at most 72 characters; accents and emoji count as more than one.',
      invalid_characters: 'Leave out characters that can’t be typed on a keyboard.',
      too_guessable: `This password is easy to guess. Use three or more unrelated words, or something longer. Don’t use your email address or the name ${app}.`,
      breached: 'This password appears in a known data breach. Use a different one.',
    } satisfies Record<PasswordIssueCode, string>,
    otherIssue: 'This password can’t be used. Choose a different one.',
    done: {
      title: 'Your password has been changed',
      body: 'You’ve been signed out everywhere. Sign in with your new password.',
    },
    dead: {
      title: 'This link doesn’t work any more',
      body: `It was used before, it is more than ${tokenLifetime} old, a newer one was sent, too many passwords were tried with it, or it is incomplete. If you have just chosen a new password with it, sign in with that.`,
    },
    noToken: {
      title: 'Open the link from your email',
      body: 'To choose a new password, open this page from the link in the email that we sent you. If you reloaded the page, open the same link once more.',
    },
    newLink: 'Get a new link',
    newLinkWithoutPlace: 'To get a new link, choose “Forgot password” where you usually sign in.',
    limited: {
      title: 'Too many attempts',
      body: 'Many requests came from your network in a short time. Your password hasn’t been changed, and what you typed is still here.',
    },
    unavailable: {
      title: 'We can’t save it right now',
      body: 'Your password hasn’t been changed. Your link hasn’t been used, and what you typed is still here.',
    },
    offline: {
      title: 'You’re offline',
      body: 'Nothing was sent, and what you typed is still here. Connect to the internet, then try again.',
    },
    unknown: {
      title: 'We don’t know if your password was changed',
      body: 'The connection was lost before we heard back. Try to sign in with the new password. If that doesn’t work, ask for a new link.',
    },
    failed: {
      title: 'We couldn’t change your password',
      body: 'Something went wrong on our side. Open the link in your email again; if it keeps happening, contact support with the reference below.',
    },
    gaveUp: {
      title: 'It still isn’t working',
      body: `Your password hasn’t been changed, and what you typed is still here. You can also open the link in your email again later: it works for ${tokenLifetime} from when it was sent.`,
    },
  },
  forgot: {
    title: 'Get a link to choose a new password',
    body: 'Enter your email address. We’ll send you a link.',
    label: 'Email address',
    submit: 'Send the link',
    problem: 'There is a problem',
    invalid: 'Enter an email address, like name@example.com.',
    errorPrefix: 'Error: ',
    sent: {
      title: 'Check your email',
      body: `If there is an account with the address that you entered, we’ve sent a link to it. The link works once, for ${tokenLifetime}. Only the newest link works.`,
      missing: 'Nothing there after a few minutes? Look in your spam folder, check the address, then ask again.',
      again: 'Ask again',
    },
  },
  mail: {
    link: 'If the button doesn’t work, copy this address into your browser:',
    device: '{browser} on {system}',
    reset: {
      subject: `Choose a new password for ${app}`,
      title: 'Choose a new password',
      body: `You can choose a new password for your ${app} account with this link.`,
      button: 'Choose a new password',
      expiry: `The link works once, for ${tokenLifetime} from when this email was sent. Only the newest link works.`,
      requested: { plain: 'Requested on {when}.', fromDevice: 'Requested on {when}, from {device}.' },
      notYou: 'Wasn’t it you? Ignore this email: nothing has changed.',
    },
    changed: {
      subject: `Your password for ${app} was changed`,
      title: 'Your password was changed',
      body: `The password of your ${app} account was changed, and every device was signed out.`,
      button: 'Get a new link',
      requested: { plain: 'This was on {when}.', fromDevice: 'This was on {when}, from {device}.' },
      notYou:
        'If it was you, there is nothing to do. If it wasn’t you, get a new link and choose another password now.',
      support:
        'Whoever changed it could open an email to this address: change the password of your mailbox too, and tell your support.',
    },
  },
})

export type Texts = ReturnType<typeof en>
