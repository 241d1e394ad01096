/**
 * Who has caused an event. `user`: the user, or somebody who tried to sign in as the user.
 * docs/operate.md explains each.
 */
export const actors = {
  user: 'the user, or somebody who tries to sign in as the user',
  operator: 'a command, or a session from `npm run issue -- sso-code`',
  provider: 'the identity provider of the connection',
  directory: 'the directory of the connection (SCIM)',
  client: 'an OpenID client. Device and network are its own',
  'setup-link': 'somebody with the setup link of the connection',
  'clean-up': '`npm run clean-up`, or its cron job',
} as const

export type Actor = keyof typeof actors

/** The kinds of events, and what has happened. docs/operate.md has the same table. */
export const eventKinds = {
  signed_in:
    'a session began. `method` is `password`, `passkey`, `sso`, `code` or `operator`',
  client_signed_in: 'a session of an OpenID client began',
  sign_in_failed: 'a sign-in failed, for the reason in `check`',
  signed_out: 'a user signed out, which ended the session',
  session_ended: 'a session was ended otherwise',
  refresh_token_reused: 'a replaced refresh token was used, which ended the session',
  code_reused: 'a used sign-in code was presented again',
  password_reset: 'a password was set with a reset link or an invitation',
  password_changed: 'a user changed the password',
  password_policy_changed: '`allow-password`, for a user',
  reset_link_issued: 'a reset link was issued by a command or by your own code',
  sign_in_link_issued: 'an operator got a link to sign in as the user',
  second_factor_on: 'an authenticator app was set up',
  second_factor_off: 'an authenticator app was removed',
  recovery_codes_replaced: 'a user got new recovery codes',
  passkey_added: 'a passkey was added',
  passkey_removed: 'a passkey was removed',
  user_added: 'a user was added',
  user_invited: 'an invitation was queued',
  user_disabled: 'a user was disabled',
  user_enabled: 'a user was enabled',
  user_renamed: 'a user got another email address',
  user_deleted: 'a user was deleted. The event does not say which',
  users_imported: 'a list of users was imported: `count` users',
  user_linked: 'a user was linked to an account of the connection',
  user_unlinked: 'a user was unlinked from an account of the connection',
  directory_user_added: 'a directory took over an existing user',
  directory_user_removed: 'a directory removed a user, who was disabled',
  connection_added: 'a connection was added',
  connection_changed: 'the settings in `changed` of a connection were changed',
  connection_activated: 'a connection became live for domains',
  connection_deactivated: 'a connection is in trial for domains again',
  connection_disabled: 'a connection was disabled',
  connection_enabled: 'a connection was enabled',
  connection_removed: 'a connection was removed',
  directory_token_issued: 'the directory of a connection got a token',
  directory_token_revoked: 'a token of a directory was revoked',
  setup_link_issued: 'a setup link of a connection was made',
  setup_link_opened: 'a setup link was opened in a browser',
  setup_link_saved:
    'the settings in `changed` of a disabled connection were entered with a setup link',
  setup_link_tested: 'a test sign-in with a setup link succeeded',
  setup_link_applied: 'a connection was enabled and activated with a setup link',
  setup_link_renewed:
    'the settings in `changed` of an enabled connection were replaced with a setup link',
  setup_link_ended: 'a setup link was used up, replaced or revoked',
  client_added: 'an OpenID client was added',
  client_changed: 'the settings in `changed` of a client were changed',
  client_disabled: 'a client was disabled',
  client_enabled: 'a client was enabled',
  client_removed: 'a client was removed',
  client_secret_issued: 'a client got a new secret',
  client_secret_revoked: 'a secret of a client was revoked',
  widget_added: 'a widget was added',
  widget_changed: 'the settings in `changed` of a widget were changed',
  widget_disabled: 'a widget was disabled',
  widget_enabled: 'a widget was enabled',
  widget_removed: 'a widget was removed',
  widget_token_issued: 'a widget got a new token',
  widget_token_revoked: 'a token of a widget was revoked',
  keys_reencrypted: 'secrets were encrypted with the first key of `ENCRYPTION_KEY`',
  events_deleted: 'a clean-up deleted `count` events',
} as const

export type EventKind = keyof typeof eventKinds

/** The fields of an event, as `--json` prints them. docs/operate.md has the same table. */
export const eventFields = {
  at: 'the time, by the clock of the database',
  kind: 'one of the kinds below',
  actor: 'who has caused it, one of the actors below',
  operator: 'the name after `--by`, if it was given',
  command: 'the command of an operator, without its arguments',
  user: 'the email address that the user has now',
  userId: 'the ID of the user',
  sessionId: 'the ID of the session (`sid`)',
  method: 'how the session began',
  connection: 'the slug of the connection, or its ID if it was removed',
  client: 'the slug of the OpenID client, or its ID if it was removed',
  widget: 'the slug of the widget, or its ID if it was removed',
  slug: 'the slug of what was added or removed',
  changed: 'the names of the changed settings, never their values',
  count: 'how many',
  check: 'why a sign-in failed: the `check` of its log line',
  device: 'the kind of browser, such as `Firefox on Windows`',
  network: 'the network of the client: an IPv4 /24 or an IPv6 /48',
  requestId: 'the `requestId` of the log line',
} as const

/** The events of a user that /account shows. Others are for operators only. */
export const accountEvents = [
  'signed_in',
  'sign_in_failed',
  'signed_out',
  'session_ended',
  'refresh_token_reused',
  'password_reset',
  'password_changed',
  'reset_link_issued',
  'sign_in_link_issued',
  'second_factor_on',
  'second_factor_off',
  'recovery_codes_replaced',
  'passkey_added',
  'passkey_removed',
  'user_disabled',
  'user_enabled',
  'user_renamed',
  'user_linked',
  'user_unlinked',
] as const satisfies EventKind[]

export type AccountEvent = (typeof accountEvents)[number]

/** How many days of events /account shows. */
export const accountEventDays = 30

/** Events younger than this are never deleted by a clean-up. */
export const minEventDays = 30
