import { accountEventDays } from '../contract/events'
import {
  maxPasskeys,
  noticedSecondFactorFailures as wrongCodes,
} from '../contract/lifetimes'
import type { PasswordIssueCode } from '../contract/schemas'
import { writeLifetimes } from './durations'

const durations = writeLifetimes('en', {
  60: 'one minute',
  [20 * 60]: '20 minutes',
  [60 * 60]: '1 hour',
  [7 * 24 * 60 * 60]: '7 days',
})

/** All texts of the pages. Every other language has the same keys (see `Texts`). */
export const en = (app: string, passwordMinLength: number) => ({
  language: 'en',
  direction: 'ltr',
  app,
  shared: {
    requestId: 'Support reference:',
    copy: 'Copy',
    copied: 'Copied',
    errorPrefix: 'Error: ',
    tryAgain: 'Try again',
    waiting: 'You can try again {when}.',
    waitingForNetwork: 'You can try again once you’re online.',
    waited: 'You can try again now.',
    offline: {
      title: 'You’re offline',
      body: 'Nothing was sent, and what you typed is still here.',
    },
    signIn: 'Sign in',
    signInAgain: 'Sign in again',
    goOn: 'Continue',
    home: 'Go to the home page',
    noScript: 'Turn on JavaScript to continue',
    notLoaded: 'This page didn’t load completely',
    updated: {
      title: 'This page has been updated',
      body: 'Reload it to continue.',
      reload: 'Reload the page',
    },
  },
  footer: {
    help: 'Help',
    privacy: 'Privacy',
    terms: 'Terms',
    language: 'Language',
  },
  home: {
    signedIn: 'You’re signed in',
    as: 'Signed in as',
    until: 'Signed in until',
    open: `Open ${app}`,
    signOut: 'Sign out',
    signedOut: 'You’re not signed in',
    justSignedOut: 'You’ve been signed out',
    signedOutBody: `Sign in to continue to ${app}.`,
    signedOutWithoutLink: 'Go to the page where you usually sign in.',
    forgotPassword: 'Forgot your password?',
  },
  signIn: {
    title: `Sign in to ${app}`,
    body: 'Use your work address to sign in at your organization.',
    label: 'Email address',
    submit: 'Continue',
    with: 'Continue with {name}',
    or: 'or',
    invalidEmail: 'Enter an email address, like name@example.com.',
    unknownEmail:
      'There’s no sign-in for this email address. Check it’s correct, or ask your administrator.',
    mailLink: 'Get a sign-in link by email',
    going: 'Taking you to your organization',
    goingBody: 'Sign in with {name}, then you’ll come back here.',
    password: 'Password',
    usePassword: 'Sign in with a password',
    passwordTitle: 'Enter your password',
    change: 'Change',
    changeLabel: 'Change email address',
    forgotPassword: 'Forgot your password?',
    early: 'Loading… Sign-in continues as soon as this page is ready.',
    sending: 'Signing you in',
    slow: 'Still signing you in. Keep this page open.',
    emptyPassword: 'Enter your password.',
    another: 'Use another account',
    wrongPassword:
      'The email address or the password is wrong. Check both, then try again.',
    limited: {
      title: 'Sign-in is paused',
      body: 'There have been too many attempts with this address or from your network.',
    },
    unavailable: {
      title: 'Sign-in isn’t available right now',
      body: 'You’re not signed in, and what you typed is still here.',
    },
    unknown: {
      title: 'We lost the connection',
      body: 'We can’t tell whether you’re signed in. Try again.',
    },
    failed: {
      title: 'We couldn’t sign you in',
      body: 'Something went wrong on our side. Try again. If it keeps happening, contact support and quote the reference below.',
    },
  },
  notFound: {
    title: 'Page not found',
    body: 'If you typed the web address, check it’s correct. If you followed a link, it may be incomplete or out of date.',
  },
  rateLimitedPage: {
    title: 'Your network has made too many requests',
    body: 'You can open this page again {when}. Nothing has been lost.',
    reload: 'Open this page again',
  },
  longUrlPage: {
    title: 'The web address is too long',
    body: 'Your organization’s sign-in service may have added too much to it. Sign in again. If it keeps happening, tell your administrator.',
  },
  authorizePage: {
    title: 'This sign-in can’t start',
    body: 'The application that sent you here isn’t set up for it. Go back and try again. If it keeps happening, tell its support.',
  },
  singleLogoutPage: {
    title: `You weren’t signed out of ${app}`,
    body: `Your organization’s sign-in service asked to sign you out, but ${app} doesn’t support that. If you were signed in here, you still are.`,
  },
  signOutPage: {
    title: 'Do you want to sign out?',
    body: 'You’re signed in as {email}. This also signs you out of the applications that you opened with this account in this browser.',
    stay: 'Stay signed in',
  },
  unavailablePage: {
    title: 'This page isn’t available right now',
    body: 'Nothing has been lost. Wait a few seconds, then open this page again.',
  },
  error: {
    title: 'Something went wrong',
    body: 'This is our fault, not yours. Try again in a moment.',
  },
  sso: {
    noScript:
      'This page needs JavaScript. Turn it on in your browser settings, then sign in again.',
    notLoaded: 'Part of this page is missing. Check your connection, then sign in again.',
    working: 'Signing you in',
    workingBody: 'This takes a moment.',
    slow: 'Still signing you in. Keep this page open.',
    done: 'You’re signed in',
    doneBody: `Taking you to ${app}.`,
    already: {
      title: 'You’re already signed in',
      body: `You’re signed in as {email}. Taking you to ${app}.`,
    },
    used: {
      title: 'This sign-in isn’t valid',
      body: `Each sign-in works once, for ${durations.code}, in the browser where you started it. Your account is fine. If you’re already signed in, continue. Otherwise, sign in again.`,
    },
    noCode: {
      title: 'We couldn’t find your sign-in',
      body: 'You only pass through this page right after signing in with your organization. If you’re already signed in, continue. Otherwise, sign in again.',
    },
    limited: {
      title: 'Your network has made too many requests',
      body: 'There have been too many sign-ins from your network. You’re not signed in yet.',
    },
    limitedLong: {
      title: 'Your network has made too many requests',
      body: 'There have been too many sign-ins from your network. You’re not signed in yet. You can sign in again {when}.',
    },
    unavailable: {
      title: 'Sign-in isn’t available right now',
      body: 'We couldn’t finish signing you in. Nothing was lost, and your account is fine.',
    },
    offline: {
      title: 'You’re offline',
      body: `Nothing was sent. Reconnect and try again within ${durations.code}, or sign in again.`,
    },
    unknown: {
      title: 'We lost the connection',
      body: 'We can’t tell whether you’re signed in. Select Continue to check.',
    },
    failed: {
      title: 'We couldn’t sign you in',
      body: 'Something went wrong on our side. Sign in again. If it keeps happening, contact support and quote the reference below.',
    },
    gaveUp: {
      title: 'Sign-in still isn’t working',
      body: 'We couldn’t finish signing you in. Wait a few minutes, then sign in again.',
    },
    rejected: {
      access_denied: {
        title: 'You weren’t signed in',
        body: `Either you canceled, or your organization doesn’t allow you to use ${app}. Try again, or ask your administrator for access.`,
      },
      login_required: {
        title: 'Sign in to your organization again',
        body: 'You’ve been signed out there. Sign in again to continue.',
      },
      temporarily_unavailable: {
        title: 'Sign-in at your organization isn’t available',
        body: 'Sign-in there isn’t working right now. Wait a few minutes, then sign in again.',
      },
      server_error: {
        title: 'Sign-in at your organization had a problem',
        body: 'You weren’t signed in. Sign in again. If it keeps happening, tell your administrator.',
      },
      attempt_invalid: {
        title: 'This sign-in can’t be continued',
        body: `Each sign-in works once, for ${durations.signIn}, in the browser where you started it. Your account is fine. Sign in again.`,
      },
      response_invalid: {
        title: 'We couldn’t verify your sign-in',
        body: 'The response from your organization’s sign-in service wasn’t valid, so we didn’t use it. Sign in again. If it keeps happening, tell your administrator.',
      },
      no_access: {
        title: `You don’t have access to ${app}`,
        body: `Your organization signed you in, but your account can’t be used with ${app}. Sign in again to choose another account, or ask your administrator for access.`,
        as: `Your organization signed you in as {email}, and this account can’t be used with ${app}. Sign in again to choose another account, or ask your administrator for access.`,
        elsewhere: 'Sign in another way',
      },
      connection_unavailable: {
        title: 'This way to sign\u00a0in isn’t available',
        body: 'It may have been turned off. Sign in another way, or ask your administrator.',
      },
      unavailable: {
        title: 'Sign-in isn’t available right now',
        body: 'We couldn’t finish signing you in. Nothing was lost, and your account is fine. Wait a few minutes, then sign in again.',
      },
      other: {
        title: 'Your organization’s sign-in service didn’t sign you in',
        body: 'It reported an error. Sign in again. If it keeps happening, tell your administrator.',
      },
    },
  },
  passwordField: {
    capsLock: 'Caps Lock is on.',
    show: 'Show',
    hide: 'Hide',
    showLabel: 'Show password',
    hideLabel: 'Hide password',
    shown: 'Your password is visible.',
    hidden: 'Your password is hidden.',
  },
  reset: {
    noScript:
      'This page needs JavaScript. Turn it on in your browser settings, then open the link from your email again.',
    notLoaded:
      'Part of this page is missing, so you can’t save a password yet. Check your connection, then open the link from your email again.',
    early: 'Loading… Your password will be saved as soon as this page is ready.',
    form: 'Choose a new password',
    formBody: `This will sign you out of ${app} on all your devices.`,
    label: 'New password',
    hint: `Use ${passwordMinLength} to 72 characters.`,
    tip: 'Tip: three random words are strong and easy to remember. Spaces are allowed.',
    account: 'Account:',
    submit: 'Save password',
    sending: 'Saving your password…',
    slow: 'Still saving. Keep this page open.',
    strength: {
      too_short: 'Too short so far',
      too_long: 'Too long: 72 characters or fewer',
      invalid_characters: 'Has characters that can’t be used',
      weak: 'Easy to guess so far',
      good: 'Good: hard to guess',
      strong: 'Very strong',
      rejected: 'This password can’t be used',
    },
    emptyPassword: 'Enter a new password.',
    issues: {
      too_short: `Password must be at least ${passwordMinLength} characters.`,
      too_long:
        'Password must be 72 characters or fewer. Accented letters and emoji count as more than one.',
      invalid_characters:
        'Password must only have characters that you can type on a keyboard.',
      too_guessable: 'Choose a password that’s harder to guess.',
      breached: 'Choose a different password. This one has appeared in a data breach.',
    } satisfies Record<PasswordIssueCode, string>,
    personal: `Choose a password that doesn’t include the name ${app} or any part of your email address.`,
    otherIssue: 'Choose a different password. This one can’t be used.',
    done: {
      title: 'Your password has been changed',
      body: 'You’ve been signed out everywhere. Sign in with your new password.',
    },
    stillNeeded: 'If you use an authenticator app, you’ll still need it.',
    passkeysKept: 'Passkeys that you kept still work.',
    removePasskeys: 'Remove all my passkeys too',
    removePasskeysHint: 'Do this if somebody else may have used your account.',
    used: {
      title: 'This link has already been used',
      body: 'If you’ve changed your password with it, sign in. Otherwise, get a new link.',
    },
    expired: {
      title: 'This link has expired',
      body: 'Links in our emails work for a limited time. Get a new one to choose your password.',
    },
    invalid: {
      title: 'This link isn’t valid',
      body: 'Part of it may be missing, or a newer link was sent. Open the newest email and select the link there, or copy the whole link into your browser. Or get a new one.',
    },
    dead: {
      title: 'This link no longer works',
      body: 'Each link works once, for a limited time, and only the newest one works. If you’ve already changed your password with it, sign in.',
    },
    noToken: {
      title: 'Open the link from your email',
      body: 'To choose a new password, use the link in the email that we sent you. If you came here with “open in browser”, the link got lost: go back to the email, copy the link, and paste it into your browser.',
    },
    newLink: 'Get a new link',
    newLinkWithoutPlace:
      'To get a new link, choose “Forgot password” where you usually sign in.',
    limited: {
      title: 'Your network has made too many requests',
      body: 'Your password hasn’t been changed, and what you typed is still here.',
    },
    unavailable: {
      title: 'We can’t save your password right now',
      body: 'Your password hasn’t been changed. Your link hasn’t been used, and what you typed is still here.',
    },
    unknown: {
      title: 'We lost the connection',
      body: 'We can’t tell whether your password was changed. Try to sign in with the new password. If that doesn’t work, get a new link.',
    },
    failed: {
      title: 'We couldn’t change your password',
      body: 'Something went wrong on our side. Open the link in your email again. If it keeps happening, contact support and quote the reference below.',
    },
    gaveUp: {
      title: 'We still can’t save your password',
      body: 'Your password hasn’t been changed, and what you typed is still here. You can also come back later through the link in your email, until it expires.',
    },
  },
  forgot: {
    title: 'Reset your password',
    body: 'Enter your email address. We’ll send you a link.',
    label: 'Email address',
    invalidEmail: 'Enter an email address, like name@example.com.',
    submit: 'Send reset link',
    sending: 'Sending the link…',
    limited: {
      title: 'Your network has made too many requests',
      body: 'Nothing was sent, and what you typed is still here.',
    },
    unavailable: {
      title: 'We can’t send a link right now',
      body: 'Nothing was sent, and what you typed is still here.',
    },
    unknown: {
      title: 'We lost the connection',
      body: 'We can’t tell whether a link was sent. Look in your inbox, or try again.',
    },
    failed: {
      title: 'We can’t send a link right now',
      body: 'Something went wrong on our side. Try again. If it keeps happening, contact support and quote the reference below.',
    },
    sent: {
      title: 'Check your email',
      body: `We’ve sent a link to {email}, if it has an account. The link works once, for ${durations.token}. Only the newest link works.`,
      address: 'the address that you entered',
      missing:
        'Nothing there after a few minutes? Look in your spam folder, check the address, then ask again.',
      open: 'Open {name}',
      again: 'Ask again',
      waiting: 'You can ask again {when}.',
      waited: 'You can ask again now.',
    },
  },
  mail: {
    link: 'If the button doesn’t work, copy this address into your browser:',
    account: 'Account: {email}',
    device: '{browser} on {system}',
    reset: {
      subject: `Choose a new password for ${app}`,
      title: 'Choose a new password',
      body: `You can choose a new password for your ${app} account with this link.`,
      button: 'Choose a new password',
      expiry: `The link works once, for ${durations.token} from when this email was sent. Only the newest link works.`,
      requested: {
        plain: 'Requested on {when}.',
        fromDevice: 'Requested on {when}, from {device}.',
      },
      notYou: 'Wasn’t it you? Ignore this email: nothing has changed.',
    },
    signIn: {
      subject: `Sign in to ${app} with your organization`,
      title: 'Sign in with your organization',
      body: `Your ${app} account has no password of its own, so there is none to reset. Sign in through your organization, with this address.`,
      button: 'Sign in',
      requested: {
        plain: 'Requested on {when}.',
        fromDevice: 'Requested on {when}, from {device}.',
      },
      notYou: 'Wasn’t it you? Ignore this email: nothing has changed.',
    },
    invitation: {
      subject: `You’re invited to ${app}`,
      title: `You’re invited to ${app}`,
      requested: {
        plain: 'You were invited on {when}.',
        fromDevice: 'You were invited on {when}, from {device}.',
      },
      notYou: 'Didn’t you expect this? Ignore this email.',
      password: {
        body: `Your ${app} account is ready. Choose a password for it with this link.`,
        button: 'Choose a password',
        expiry: `The link works once, for ${durations.invitation} from when this email was sent. Only the newest link works.`,
      },
      sso: {
        body: `Your ${app} account is ready. Sign in through your organization, with this address.`,
        button: 'Sign in',
      },
    },
    changed: {
      subject: `Your password for ${app} was changed`,
      title: 'Your password was changed',
      body: `The password of your ${app} account was changed, and every other device was signed out.`,
      button: 'Get a new link',
      requested: {
        plain: 'This was on {when}.',
        fromDevice: 'This was on {when}, from {device}.',
      },
      notYou:
        'If it was you, there is nothing to do. If it wasn’t you, get a new link and choose another password now.',
      support:
        'If it wasn’t you, the person who did it may be able to read your email: change the password of your mailbox too, and contact support.',
    },
    newDevice: {
      subject: `New sign-in to ${app}`,
      title: 'New sign-in to your account',
      body: `There was a sign-in to your ${app} account with your password, in a browser where this password wasn’t used before.`,
      button: 'Choose a new password',
      requested: {
        plain: 'This was on {when}.',
        fromDevice: 'This was on {when}, from {device}.',
      },
      notYou:
        'If it was you, there is nothing to do. If it wasn’t you, choose a new password now.',
    },
    passkey: {
      button: 'Open your account',
      notYou:
        'If it was you, there is nothing to do. If it wasn’t you, remove the passkeys that you don’t know, and choose a new password now.',
      support: 'If you didn’t expect this, contact support too.',
      added: {
        subject: `A passkey for ${app} was added`,
        title: 'A passkey was added',
        body: `A passkey was added to your ${app} account. It signs in without your password.`,
      },
      removed: {
        subject: `A passkey for ${app} was removed`,
        title: 'A passkey was removed',
        body: `A passkey was removed from your ${app} account, so it no longer signs in.`,
      },
      newDevice: {
        subject: `New sign-in to ${app}`,
        title: 'New sign-in to your account',
        body: `There was a sign-in to your ${app} account with a passkey, in a browser where it wasn’t used before.`,
      },
    },
    emailChanged: {
      subject: `The email address of your ${app} account was changed`,
      title: 'Your email address was changed',
      body: `An administrator changed the email address of your ${app} account. This message goes to the old address and to the new one.`,
      next: 'Every device was signed out. From now on, sign in with the new address.',
      button: 'Sign in',
      support: 'If you didn’t expect this, contact support.',
    },
    operatorSignIn: {
      subject: `An administrator can sign in to your ${app} account`,
      title: 'An administrator can sign in as you',
      body: `An administrator got a link that signs in once to your ${app} account, without your password.`,
      next: 'Your account page lists such sign-ins, and can end them.',
      button: 'Open your account',
      support: 'If you didn’t expect this, contact support.',
      requested: {
        plain: 'This was on {when}.',
        fromDevice: 'This was on {when}, from {device}.',
      },
    },
    secondFactor: {
      button: 'Choose a new password',
      notYou:
        'If it was you, there is nothing to do. If it wasn’t you, choose another password now.',
      support: 'If you didn’t expect this, contact support too.',
      on: {
        subject: `Sign-in to ${app} now asks for a code`,
        title: 'Your authenticator app is set up',
        body: `When you sign in to your ${app} account with your password, we now also ask for a code from your authenticator app. All other devices were signed out.`,
      },
      off: {
        subject: `Sign-in to ${app} no longer asks for a code`,
        title: 'Your authenticator app was switched off',
        body: `When you sign in to your ${app} account with your password, we no longer ask for a code. All other devices were signed out.`,
      },
      used: {
        subject: `A recovery code for ${app} was used`,
        title: 'A recovery code was used',
        body: `Your password and a recovery code were used to sign in to your ${app} account. Recovery codes left: {left}.`,
      },
      codes: {
        subject: `New recovery codes for ${app}`,
        title: 'You have new recovery codes',
        body: `New recovery codes were made for your ${app} account. The old ones no longer work.`,
      },
      guesses: {
        subject: `Somebody may know your password for ${app}`,
        title: 'Wrong codes after your password',
        body: `Somebody entered the password of your ${app} account, and then ${wrongCodes} wrong codes in a row.`,
      },
    },
  },
  account: {
    title: 'Your account',
    password: 'Password',
    current: 'Current password',
    change: 'Change password',
    wrong: 'The current password is wrong. Check it, then try again.',
    problems: {
      signInAgain: 'Sign in again to change your passkeys.',
      passkeyName: 'Enter a name of 1 to 60 characters.',
      limited: 'There have been too many attempts. Wait a few minutes, then try again.',
      unknown:
        'We can’t tell whether your password was changed. Wait a few seconds, then try again, or sign in with the new one.',
    },
    organization: 'Your organization’s sign-in protects your account.',
    sessions: 'Where you’re signed in',
    thisDevice: 'This device',
    unknownDevice: 'Unknown device',
    began: {
      password: 'Signed in with your password:',
      passkey: 'Signed in with a passkey:',
      connection: 'Signed in with {name}:',
      sso: 'Signed in with your organization:',
      code: 'Signed in:',
      operator: 'An administrator signed in as you:',
    },
    lastUsed: 'Last used:',
    activeNow: 'Active now',
    done: {
      passkeyAdded: 'Your passkey was added. You can sign in with it from now on.',
      passkeyRenamed: 'The passkey was renamed.',
      passkeyRemoved: 'The passkey was removed. All other devices were signed out.',
      changed: 'Your password has been changed. All other devices were signed out.',
      ended: 'That device was signed out.',
      others: 'All other devices were signed out.',
      setUp: 'Your authenticator app is set up. All other devices were signed out.',
      newCodes: 'You have new recovery codes. The old ones no longer work.',
      switchOff:
        'Your authenticator app is switched off. All other devices were signed out.',
    },
    events: {
      title: 'Recent activity',
      intro: `What happened to your account in the past ${accountEventDays} days. If something wasn’t you, change your password and contact support.`,
      show: 'Show activity',
      none: 'Nothing has happened yet.',
      byOther: 'By an administrator or your organization',
      operator: 'An administrator signed in as you',
      kinds: {
        signed_in: 'Sign-in',
        sign_in_failed: 'Failed sign-in',
        signed_out: 'Sign-out',
        session_ended: 'A device was signed out',
        refresh_token_reused:
          'A device was signed out, because its session may have been copied',
        password_reset: 'New password, with a link',
        password_changed: 'Password changed',
        reset_link_issued: 'A link to choose a password was issued',
        sign_in_link_issued: 'An administrator got a link to sign in as you',
        second_factor_on: 'Authenticator app set up',
        second_factor_off: 'Authenticator app switched off',
        recovery_codes_replaced: 'New recovery codes',
        passkey_added: 'Passkey added',
        passkey_removed: 'Passkey removed',
        user_disabled: 'Account disabled',
        user_enabled: 'Account enabled',
        user_renamed: 'Email address changed',
        user_linked: 'Linked to your organization’s sign-in',
        user_unlinked: 'Unlinked from your organization’s sign-in',
      },
    },
    signOutHere: 'Sign out here',
    signOutOthers: 'Sign out everywhere else',
    factor: {
      titles: {
        setUp: 'Set up your authenticator app',
        newCodes: 'Get new recovery codes',
        switchOff: 'Switch off your authenticator app',
      },
      noScript:
        'This page needs JavaScript. Turn it on in your browser settings, then load this page again.',
      notLoaded:
        'Part of this page is missing. Check your connection, then load this page again.',
      name: 'Authenticator app',
      off: 'Make your account safer: after your password, we’ll ask for a code from an app on your phone.',
      on: 'We ask for a code when you sign in with your password.',
      onPasskey: 'After your password, we ask for your passkey or a recovery code.',
      noCodes:
        'You sign in with your passkey. You have no recovery codes yet: get them now, in case you lose it.',
      requiredAgain:
        'A second factor is required. The next time you sign in with your password, you’ll set one up again.',
      requiredPasskey:
        'A second factor is required. After your password, we’ll ask for your passkey or a recovery code.',
      proven: 'You’ve just signed in with your passkey, so you don’t need your password.',
      usePasskey: 'Use your passkey instead',
      since: 'On since',
      left: 'Recovery codes left:',
      actions: {
        setUp: 'Set up',
        newCodes: 'New recovery codes',
        switchOff: 'Switch off',
      },
      cancel: 'Cancel',
      add: 'Add this account to your app',
      scan: 'Scan this code with your app.',
      qr: 'QR code',
      open: 'Open your authenticator app',
      otherDevice: 'Show the QR code and the key',
      key: 'Can’t scan it? Type this key into your app:',
      done: {
        setUp: 'Your authenticator app is on',
        newCodes: 'Your new recovery codes have replaced the old ones',
        passkey: 'Your passkey was added',
      },
      save: 'Save your recovery codes',
      saveBody:
        'If you lose your phone, sign in with your password and one of these codes. Each code works once. Keep them somewhere safe, such as a password manager. We won’t show them again.',
      codes: 'recovery codes',
      download: 'Download',
      saved: 'I have saved them',
      lost: 'Your recovery codes weren’t shown',
      lostBody:
        'Your second factor is set up, but the connection was lost before we could show your recovery codes. Get new ones now, so that you can sign in if you lose your phone.',
      sending: 'One moment…',
      limited: {
        title: 'You’ll have to wait a little',
        body: 'There were too many wrong passwords or codes. Nothing has changed.',
      },
      unavailable: {
        title: 'This isn’t available right now',
        body: 'Nothing has changed, and what you typed is still here.',
      },
      unknown: {
        title: 'We lost the connection',
        body: 'We can’t tell whether anything has changed. Load this page again to see.',
      },
      failed: {
        title: 'That didn’t work',
        body: 'Something went wrong on our side. Try again. If it keeps happening, contact support and quote the reference below.',
      },
    },
  },
  passkey: {
    name: 'Passkeys',
    what: 'A passkey signs you in with your fingerprint, your face or a PIN. It can’t be phished.',
    signIn: 'Sign in with a passkey',
    prompt: 'Follow the steps that your device shows.',
    cancel: 'Cancel',
    add: 'Add a passkey',
    addTitle: 'Add a passkey',
    create: 'Create a passkey',
    offerTitle: 'Sign in faster next time',
    notNow: 'Not now',
    otherDevice:
      'Create a passkey on this device too, so that you don’t need the other one next time.',
    synced: 'Synced',
    single: 'Only on one device',
    added: 'Added:',
    unused: 'Not used yet',
    rename: 'Rename',
    label: 'Name of the passkey',
    save: 'Save',
    remove: 'Remove',
    removeBody:
      'You can no longer sign in with it, and all other devices are signed out.',
    last: 'You’ll sign in with your password.',
    lastRequired:
      'The next time you sign in with your password, you’ll set up a second factor.',
    removeThis: 'Remove this passkey',
    again: 'Sign in again',
    againBody: 'To protect your account, sign in again before you make this change.',
    back: 'Back to your account',
    exists: 'This device already has a passkey for your account.',
    signInProblems: {
      NotAllowedError:
        'That didn’t work, or was cancelled. Try again, or sign in with your password.',
      SecurityError: 'Passkeys don’t work at this address.',
      browser: 'Your browser couldn’t use a passkey. Use your password.',
      CHALLENGE_INVALID: 'That took too long. Try again.',
      unknown_passkey: 'This passkey was removed from your account. Sign in another way.',
      user_not_verified:
        'Your password manager didn’t check that it’s you. Turn on its screen lock or PIN check, or use your password.',
      invalid: 'This passkey can’t be used. Sign in another way.',
    },
    addProblems: {
      cancelled:
        'No passkey was created. Try again. If this device already has one for your account, you don’t need another.',
      unsupported:
        'This device or key can’t check that it’s you. Set up a screen lock or a PIN, or use another device.',
      address: 'Passkeys don’t work at this address.',
      browser: 'Your browser couldn’t use a passkey. Use your password.',
      expired: 'That took too long. Try again.',
      unverified:
        'Your password manager didn’t check that it’s you. Turn on its screen lock or PIN check, or use your password.',
      invalid: 'This passkey can’t be used. Try again, or use another device.',
      conflict: `This passkey can’t be added: your account already has it, or has ${maxPasskeys} passkeys.`,
    },
    unknown: {
      title: 'We lost the connection',
      body: 'We can’t tell whether the passkey was saved. Look at the list in your account.',
    },
  },
  secondFactor: {
    title: 'Confirm it’s you',
    passkey: 'Use your passkey',
    passkeyOnly: 'Use the passkey that you added to your account.',
    passkeyProblems: {
      NotAllowedError: 'That didn’t work, or was cancelled. Try again.',
      browser: 'Your browser couldn’t use a passkey. Try another browser or device.',
    },
    setUp: {
      title: 'Set up a second factor',
      body: 'To sign in, you need a second factor in addition to your password.',
      app: 'Use an authenticator app',
      appBody: 'After your password, you’ll enter a code from an app on your phone.',
      instead: 'Use a passkey instead',
    },
    names: { code: 'Code from your authenticator app', recoveryCode: 'Recovery code' },
    hint: {
      code: 'Six digits that change every 30 seconds.',
      recoveryCode:
        'You saved these codes when you set up your second factor. Each works once.',
    },
    instead: { code: 'Use a recovery code', recoveryCode: 'Use your authenticator app' },
    empty: { password: 'Enter your password.', code: 'Enter a code.' },
    issues: {
      code: {
        wrong:
          'This code is wrong. Check that your phone sets its time automatically, then enter the newest code.',
        used: 'This code was already used. Wait for the next one.',
      },
      recoveryCode: {
        wrong: 'This recovery code is wrong. Check it, then try again.',
        used: 'This recovery code was already used. Enter another one.',
      },
      locked:
        'There were too many wrong codes, so those of your app no longer work. Use a recovery code, or ask your administrator.',
    },
    expired:
      'That took too long, or your account has changed. Start again with your password.',
    unknown: {
      title: 'We lost the connection',
      body: 'We can’t tell whether you’re signed in. Wait for the next code and enter it.',
    },
  },
})

export type Texts = ReturnType<typeof en>
