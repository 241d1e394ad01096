/**
 * Why a request was rejected: the field `check` of its log line. The client never gets
 * it. docs/operate.md explains each check, and docs/sso.md those of a sign-in through an
 * identity provider.
 */
export const checks = [
  // every request
  'client_requests',
  'client_codes',
  'session_requests',
  'directory_requests',
  'switched_off',
  'path_unknown',
  'method',
  'content_type',
  'content_encoding',
  'size',
  'other_site',
  'url_too_long',
  'not_a_navigation',
  'hash_queue',

  // the part that is not ready
  'database_unreachable',
  'database_read_only',
  'database_rights',
  'database_pooler',
  'migrations_pending',

  // the user, and the password
  'unknown_user',
  'wrong_password',
  'no_password',
  'unknown_hash',
  'sso_only',
  'disabled',
  'user_changed',

  // limits of attempts, and of emails
  'account_network_limit',
  'account_limit',
  'network_limit',
  'browser_limit',
  'browsers_limit',
  'second_factor_limit',
  'mail_limit',

  // the code of an exchange
  'code_unknown',
  'code_used',
  'code_expired',
  'code_changed',
  'browser',
  'connection',
  'connection_kind',
  'identity_unlinked',

  // an OpenID client, and its code
  'client_missing',
  'client_unknown',
  'client_disabled',
  'client_secret',
  'client_public',
  'authorization_request',
  'prompt',
  'id_token_hint',
  'grant_type',
  'redirect_uri_unknown',
  'redirect_uri',
  'code_verifier',
  'code_client',

  // a session JWT, a refresh token, a reset token, or the token of a widget
  'token_missing',
  'token_unknown',
  'token_used',
  'token_newer',
  'token_expired',
  'token_revoked',
  'token_attempts',
  'token_changed',
  'token_client',

  // a session
  'session_unknown',
  'session_ended',
  'session_expired',
  'session_idle',
  'session_changed',
  'parent_ended',
  'not_renewable',

  // the second factor
  'second_factor',
  'challenge_unknown',
  'challenge_expired',
  'challenge_changed',
  'challenge_used',
  'enrolment_unknown',
  'enrolment_expired',
  'factor_locked',
  'factor_on',
  'factor_off',
  'factor_missing',

  // a passkey
  'passkey_format',
  'passkey_unknown',
  'passkey_signature',
  'passkey_origin',
  'passkey_user_verification',
  'passkey_counter',
  'passkey_user',
  'passkey_exists',
  'passkey_limit',
  'sign_in_old',

  // the directory of a connection
  'scim_syntax',
  'scim_value',
  'scim_path',
  'scim_filter',
  'scim_domain',
  'scim_mutability',
  'scim_uniqueness',
  'scim_user',
  'scim_groups',

  // a setup link
  'setup_link',
  'setup_value',
  'setup_requests',

  // a widget
  'widget_disabled',
  'origin_missing',
  'origin_unapproved',
] as const

export type Check = (typeof checks)[number]
