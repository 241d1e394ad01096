import { isIP } from 'node:net'
import * as z from 'zod'
import { parseEmailAddress } from '../contract/email-address'
import { minEventDays } from '../contract/events'
import { parseEncryptionKeys } from './encryption-keys'
import {
  type EnvFileWarning,
  explainInvalid,
  misspelledNames,
  warnAboutEnvFile,
} from './env-file'
import { isLoopback } from './loopback'
import { parseIdTokenKeys, parseSigningKeys } from './signing-keys'

const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true')

/** A whole number, with one message for everything else. */
function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  const isAllowed = (value: number) =>
    Number.isInteger(value) && value >= min && value <= max
  return z.coerce.number({ error }).refine(isAllowed, error)
}

/** 0, or a whole number of days that is not below `minEventDays`. */
function eventDays() {
  const error = `must be 0, or a whole number from ${minEventDays} to 3650`
  const isAllowed = (days: number) =>
    Number.isInteger(days) && (days === 0 || (days >= minEventDays && days <= 3_650))
  return z.coerce.number({ error }).refine(isAllowed, error)
}

const httpUrl = z.url({
  protocol: /^https?$/,
  error: 'must be a URL that begins with https:// or http://',
})
/** True if the text is no URL, for which `httpUrl` has a message. */
const isOrigin = (url: string) =>
  !URL.canParse(url) || new URL(url).href === `${new URL(url).origin}/`
const origin = httpUrl
  .refine(isOrigin, 'must be an origin, like https://login.example.com, without a path')
  .transform((value) => new URL(value).origin)
/** The # is optional, because an unquoted # begins a comment in an env file. */
const color = (example: string) =>
  z
    .string()
    .regex(/^#?[0-9a-f]{6}$/i, `must be a color like ${example}`)
    .transform((value) => value.replace(/^#?/, '#'))
/** The target of a link on a page: a URL or a path of this site. */
const linkTarget = z.union([httpUrl, z.string().regex(/^\/(?![/\\])/)], {
  error: 'must be a URL that begins with https://, or a path that begins with /',
})

const lacks = (parameter: string) => (url: string) => !readParameters(url).has(parameter)
const postgresUrl = z
  .string()
  .trim()
  .refine((url) => /^postgres(ql)?:$/.test(parseDatabaseUrl(url)?.protocol ?? ''), {
    error: 'must be a URL like postgresql://user:password@host:5432/database',
    abort: true,
  })
  .refine(
    lacks('schema'),
    'must not have the parameter schema: the tables are in the schema public',
  )
  .refine(
    lacks('options'),
    'must not have the parameter options: give the settings to the role (deploy/database.sql)',
  )

/** The parameters of DATABASE_URL that `pg` supports, and one of Prisma's parameters. */
const knownParameters = [
  [
    'host',
    'port',
    'user',
    'password',
    'application_name',
    'fallback_application_name',
    'client_encoding',
  ],
  [
    'ssl',
    'sslmode',
    'sslcert',
    'sslkey',
    'sslrootcert',
    'sslnegotiation',
    'uselibpqcompat',
    'pgbouncer',
  ],
  [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
    'query_timeout',
  ],
].flat()

/**
 * Returns the names of the parameters of DATABASE_URL that have no effect, for a warning.
 */
export function ignoredParameters(url: string | undefined): string[] {
  return [...new Set(readParameters(url).keys())].filter(
    (name) => !knownParameters.includes(name),
  )
}

function readParameters(url = ''): URLSearchParams {
  return parseDatabaseUrl(url)?.searchParams ?? new URLSearchParams()
}

/**
 * Parses the URL of a database as `pg` does. With the parameter `host`, such as the
 * socket of Cloud SQL, the URL needs no host, but `URL` requires one after a user name.
 */
function parseDatabaseUrl(url: string): URL | null {
  const withHost = url.replace(
    /^(postgres(?:ql)?:\/\/[^/?#]*@)(?=\/[^?#]*\?(?:.*&)?host=)/i,
    '$1localhost',
  )
  return URL.canParse(withHost) ? new URL(withHost) : null
}

/** Returns the host of a valid DATABASE_URL: the `hostname` of a `URL`, or a folder. */
export function databaseHost(url: string): string {
  const { hostname, searchParams } = parseDatabaseUrl(url)!
  const host = searchParams.get('host') || decodeURIComponent(hostname)
  return host.includes(':') && !/^[[/]/.test(host) ? `[${host}]` : host
}

/** A setting with its own parser. The parser's errors must not contain the value. */
function parsedBy<Result>(parse: (text: string) => Result) {
  return z.string().transform((text, context): Result => {
    try {
      return parse(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
      return z.NEVER
    }
  })
}

const encoded =
  '; write %25 for %, %2F for /, %3F for ? and %23 for # in its user name and password'

const proxyUrl = z
  .string()
  .refine(
    isProxyUrl,
    `must be a URL like http://user:password@proxy.example.com:3128${encoded}`,
  )
  .optional()

function isProxyUrl(value: string): boolean {
  try {
    const url = new URL(value)
    decodeURIComponent(url.username + url.password)
    const isOrigin = ['', '/'].includes(url.pathname) && !url.search && !url.hash
    return /^(https?|socks5?):$/.test(url.protocol) && url.hostname !== '' && isOrigin
  } catch {
    return false
  }
}

/**
 * Returns the URLs of the proxies, or '' for none. As in curl, the scheme may be missing,
 * and names in lower case come first.
 */
export function readProxies(source: Given) {
  return {
    HTTP_PROXY: addScheme(source.http_proxy ?? source.HTTP_PROXY),
    HTTPS_PROXY: addScheme(source.https_proxy ?? source.HTTPS_PROXY),
  }
}

function addScheme(proxy = ''): string {
  const trimmed = proxy.trim()
  const hasScheme = /^["'`]?[a-z][a-z\d+.-]*:\/\//i.test(trimmed)
  if (trimmed === '' || hasScheme) return trimmed
  return `http://${trimmed}`
}

const defineSettings = () =>
  z.object({
    DATABASE_URL: postgresUrl,
    DIRECT_DATABASE_URL: postgresUrl.optional(),
    DATABASE_POOLED: flag.default(false),
    DATABASE_PREPARED_STATEMENTS: flag,
    DATABASE_POOL_SIZE: wholeNumber(1, 500).default(10),
    PAGE_DATABASE_TIMEOUT_MS: wholeNumber(1, 6_000).default(2_000),
    PUBLIC_URL: origin,
    SESSION_SIGNING_KEYS: parsedBy(parseSigningKeys),
    ENCRYPTION_KEY: parsedBy(parseEncryptionKeys).optional(),
    WIDGET_SIGNING_KEYS: parsedBy(parseSigningKeys).optional(),
    ID_TOKEN_SIGNING_KEYS: parsedBy(parseIdTokenKeys).optional(),
    SESSION_AUDIENCE: z.string().default('dashboard'),
    RATE_LIMIT: z
      .enum(['redis', 'upstash', 'in-process'], {
        error: 'must be redis, upstash or in-process',
      })
      .default('in-process'),
    RATE_LIMIT_REQUESTS: wholeNumber(1, 1_000_000).default(2_000),
    REDIS_URL: z
      .url({
        protocol: /^rediss?$/,
        error: 'must be a URL like redis://user:password@host:6379',
      })
      .optional(),
    UPSTASH_REDIS_REST_URL: httpUrl.optional(),
    UPSTASH_REDIS_REST_TOKEN: z.string().optional(),
    TRUSTED_PROXIES: wholeNumber(0, 10).default(0),
    HTTPS_PROXY: proxyUrl,
    HTTP_PROXY: proxyUrl,
    CRON_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
    VERCEL: z.string().optional(),
    PASSWORD_SIGN_IN: flag.default(false),
    SECOND_FACTOR: z
      .enum(['true', 'false', 'required'], { error: 'must be true, false or required' })
      .transform((value) => (value === 'required' ? value : value === 'true'))
      .default(false),
    SESSION_IDLE_MINUTES: wholeNumber(30, 10_080).optional(),
    SCIM: flag.default(false),
    SETUP_LINKS: flag.default(false),
    PASSKEYS: flag.default(false),
    PASSKEY_DOMAIN: z
      .string()
      .regex(
        /^[a-z\d-]+(\.[a-z\d-]+)*$/,
        'must be a domain in lower case, like example.com',
      )
      .optional(),
    PASSWORD_MIN_LENGTH: wholeNumber(8, 64).default(8),
    PASSWORD_BREACH_CHECK: flag,
    PASSWORD_BREACH_URL: httpUrl.default('https://api.pwnedpasswords.com'),
    APP_NAME: z.string().max(60, 'must have at most 60 characters').default('Dashboard'),
    ACCENT_COLOR: color('#0b6e4f').default('#0b6e4f'),
    ACCENT_COLOR_DARK: color('#6fd3a0').optional(),
    CORNER_RADIUS: z.coerce
      .number({ error: 'must be a number from 0 to 24' })
      .refine((value) => value >= 0 && value <= 24, 'must be a number from 0 to 24')
      .default(10),
    FONT_FAMILY: z
      .string()
      .regex(
        /^[\p{L}\p{N} ,"'-]{1,200}$/u,
        'must be names of fonts, like Inter, system-ui, sans-serif',
      )
      .optional(),
    HELP_URL: linkTarget.optional(),
    PRIVACY_URL: linkTarget.optional(),
    TERMS_URL: linkTarget.optional(),
    DASHBOARD_URL: linkTarget.default('/'),
    SIGN_IN_URL: linkTarget.default('/sign-in'),
    FORGOT_PASSWORD_URL: linkTarget.optional(),
    SMTP_URL: z
      .url({
        protocol: /^smtps?$/,
        error: `must be a URL like smtps://user:password@smtp.example.com${encoded}`,
      })
      .refine(
        (value) => /^smtps?:\/\/[^/?#]+\/?$/i.test(value),
        `must not have a path or parameters${encoded}`,
      )
      .refine(
        (value) => !/%(?![0-9a-f]{2})/i.test(value),
        `has a % that encodes nothing${encoded}`,
      )
      .optional(),
    MAIL_FROM: z
      .string()
      .refine(
        (value) => parseEmailAddress(value) !== null,
        'must be an email address, without a name',
      )
      .optional(),
    SMTP_MAX_CONNECTIONS: wholeNumber(1, 50).default(2),
    EVENTS_DAYS: eventDays().default(180),
    METRICS_PORT: wholeNumber(1, 65_535).optional(),
    METRICS_HOST: z
      .string()
      .regex(/^[\w.-]+$/, 'must be an IPv4 address or a host name')
      .default('127.0.0.1'),
    LOG_LEVEL: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'], {
        error: 'must be debug, info, warn, error or silent',
      })
      .default('info'),
  })

/** The validated settings. */
export type Env = z.output<ReturnType<typeof defineSettings>>

// On globalThis, because Next.js loads this file for the start, the proxy, routes and
// pages.
const globals = globalThis as typeof globalThis & { settings?: Env }

/**
 * Returns the settings, validated on first use. Throws one error that lists all problems,
 * without any value.
 */
export function env(): Env {
  globals.settings ??= parseEnv(process.env)
  return globals.settings
}

/**
 * Validates settings from any source. An empty setting counts as missing. Throws like
 * `env`.
 */
export function parseEnv(source: Given): Env {
  const given = presentSettings({ ...source, ...readProxies(source) })
  addFromOtherNames(given)
  const rateLimit = rateLimitProblems(given)
  addDefaults(given)

  // parsed once, which is less work than to generate code for it
  const parsed = defineSettings().safeParse(given, { jitless: true })
  const problems = [
    ...describeIssues(parsed.error, given),
    ...problemsInProduction(given),
    ...rateLimit,
    ...conflicts(given, parsed.data),
  ]

  const lines = problems.filter((problem) => typeof problem === 'string')
  if (parsed.success && lines.length === 0) return parsed.data

  throw invalidSettings(lines)
}

/** Adds the settings that a platform or an earlier version gives other names. */
function addFromOtherNames(given: Given): void {
  const vercelHost =
    given.VERCEL_ENV === 'production'
      ? given.VERCEL_PROJECT_PRODUCTION_URL
      : given.VERCEL_URL

  given.PUBLIC_URL ??= vercelHost && `https://${vercelHost}`
  given.ENCRYPTION_KEY ??= given.CONNECTION_SECRETS_KEY // the old name, before 0.2.0

  // This parameter of Prisma stands for a pooler in transaction mode.
  if (readParameters(given.DATABASE_URL).get('pgbouncer') === 'true')
    given.DATABASE_POOLED ??= 'true'

  // Vercel's marketplace sets these variables and REDIS_URL for an Upstash Redis.
  if (given.KV_REST_API_URL && given.RATE_LIMIT !== 'redis') {
    given.UPSTASH_REDIS_REST_URL ??= given.KV_REST_API_URL
    given.UPSTASH_REDIS_REST_TOKEN ??= given.KV_REST_API_TOKEN
    delete given.REDIS_URL
  }
}

/** Adds the defaults that depend on other settings. */
function addDefaults(given: Given): void {
  // PgBouncer does not support prepared statements before 1.21. From 1.21 to 1.23,
  // support is off by default.
  given.DATABASE_PREPARED_STATEMENTS ??= String(given.DATABASE_POOLED !== 'true')
  given.PASSWORD_BREACH_CHECK ??= String(given.NODE_ENV === 'production')
  given.RATE_LIMIT ??= given.REDIS_URL
    ? 'redis'
    : given.UPSTASH_REDIS_REST_URL && 'upstash'
  if (given.SMTP_URL) given.FORGOT_PASSWORD_URL ??= '/forgot-password'
}

/**
 * Returns the database URL of `npm run migrate`, which also runs where the other settings
 * are missing, such as in a build. Throws like `env`.
 */
export function parseMigrationUrl(source: Given): string {
  const given = presentSettings(source)
  const urls = defineSettings()
    .pick({ DATABASE_URL: true, DIRECT_DATABASE_URL: true })
    .partial()
  const { data, error } = urls.safeParse(given)
  const url = data?.DIRECT_DATABASE_URL ?? data?.DATABASE_URL
  if (url) return url

  throw invalidSettings(
    error ? describeIssues(error, given) : ['DATABASE_URL is missing'],
  )
}

/** Settings as texts. */
type Given = Record<string, string | undefined>

/**
 * Returns the settings that are not empty. Trims them, because a line of an env file can
 * end with spaces or, from Windows, with a carriage return.
 */
function presentSettings(source: Given): Given {
  const trimmed = Object.entries(source).map(([name, value]) => [name, value?.trim()])
  return Object.fromEntries(trimmed.filter(([, value]) => value))
}

function describeIssues(error: z.ZodError | undefined, given: Given): string[] {
  return (error?.issues ?? []).map(({ path, message }) => {
    const name = String(path[0])
    if (given[name] !== undefined)
      return `${name} ${message}${explainInvalid(given[name])}`

    const isMisspelled = misspelledNames(given, [name]).length > 0
    return isMisspelled
      ? `${name} is missing: its name begins with “export” or has spaces around it in the env file`
      : `${name} is missing`
  })
}

function invalidSettings(lines: string[]): Error {
  return new Error(
    ['These settings are missing or invalid (see .env.example):', ...lines].join('\n  '),
  )
}

/** Returns a warning if a setting is set under its old name, or null. */
export function renamedSetting(source: Given): string | null {
  const isOld = source.CONNECTION_SECRETS_KEY?.trim() && !source.ENCRYPTION_KEY?.trim()
  return isOld
    ? 'CONNECTION_SECRETS_KEY has a new name: set ENCRYPTION_KEY to its value'
    : null
}

/** Returns the names of all settings that `env` returns. */
export function settingNames(): string[] {
  return Object.keys(defineSettings().shape)
}

/**
 * Returns the names of settings that are present but empty. Omits VERCEL, which
 * bin/server.ts sets to ''.
 */
export function emptySettings(source: Given): string[] {
  return settingNames().filter((name) => name !== 'VERCEL' && source[name]?.trim() === '')
}

/**
 * Returns warnings about valid settings in which an env file has probably left quotes or
 * a comment, or whose names are misspelled.
 */
export function envFileWarnings(source: Given): EnvFileWarning[] {
  return warnAboutEnvFile(source, [...settingNames(), ...readElsewhere])
}

/** Settings that bin/server.ts, lib/outgoing.ts and OpenTelemetry read. */
const readElsewhere = [
  'PORT',
  'HOST',
  'DRAIN_MS',
  'NO_PROXY',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
]

function problemsInProduction({ NODE_ENV, PUBLIC_URL, TRUSTED_PROXIES, VERCEL }: Given) {
  if (NODE_ENV !== 'production' || !PUBLIC_URL || !URL.canParse(PUBLIC_URL)) return []

  const { protocol, hostname } = new URL(PUBLIC_URL)
  if (isLoopback(hostname)) return [] // no network is involved

  return [
    // http exposes codes, passwords and session cookies to the network.
    protocol === 'http:' &&
      'PUBLIC_URL must begin with https:// in production, unless its host is localhost',
    // https needs a proxy. Without this setting, all users would be counted under the
    // proxy's IP address.
    !VERCEL &&
      Number(TRUSTED_PROXIES ?? 0) === 0 &&
      'TRUSTED_PROXIES must be at least 1 in production: the number of reverse proxies in front of the server',
  ]
}

/** Returns the settings whose URLs lead to another host without TLS, for warnings. */
export function unencryptedUrls(env: Env): string[] {
  const { REDIS_URL, UPSTASH_REDIS_REST_URL } = env
  const PASSWORD_BREACH_URL = env.PASSWORD_BREACH_CHECK && env.PASSWORD_BREACH_URL
  const urls = Object.entries({ REDIS_URL, UPSTASH_REDIS_REST_URL, PASSWORD_BREACH_URL })
  const unencrypted = urls.filter(([, url]) => url && isUnencrypted(url))
  const names = unencrypted.map(([name]) => name)
  return isUnencryptedDatabase(env.DATABASE_URL) ? ['DATABASE_URL', ...names] : names
}

function isUnencrypted(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return ['http:', 'redis:'].includes(protocol) && !isLoopback(hostname)
}

/** False if the URL decides about TLS itself, such as with `sslmode=disable`. */
function isUnencryptedDatabase(url: string): boolean {
  const host = databaseHost(url)
  if (isLoopback(host) || host.startsWith('/')) return false
  const decided = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert']
  const parameters = readParameters(url)
  if (decided.some((name) => parameters.has(name))) return false
  return !process.env.PGSSLMODE // `pg` reads it where the URL has none of these
}

const rateLimitSettings: Record<string, string[]> = {
  redis: ['REDIS_URL'],
  upstash: ['UPSTASH_REDIS_REST_URL', 'UPSTASH_REDIS_REST_TOKEN'],
  'in-process': [],
}

/**
 * Several processes must share their counters, so production needs a store or the
 * explicit value `in-process`.
 */
function rateLimitProblems(given: Given): string[] {
  const isSet = (name: string) => given[name] !== undefined
  const kinds = Object.keys(rateLimitSettings)
  const chosen =
    given.RATE_LIMIT ?? kinds.find((kind) => rateLimitSettings[kind]!.some(isSet))
  if (chosen === undefined && given.NODE_ENV === 'production')
    return [
      'REDIS_URL is missing: set it, or UPSTASH_REDIS_REST_URL, or RATE_LIMIT=in-process for a single process',
    ]

  if (chosen === undefined || !kinds.includes(chosen)) return []

  const missing = rateLimitSettings[chosen]!.filter((name) => !isSet(name)).map(
    (name) => `${name} is missing`,
  )
  const others = kinds
    .filter((kind) => kind !== chosen)
    .flatMap((kind) => rateLimitSettings[kind]!.filter(isSet))
  if (others.length === 0) return missing

  const setting = given.RATE_LIMIT ? `RATE_LIMIT=${chosen}` : 'REDIS_URL'

  return [
    ...missing,
    `${setting} conflicts with ${others.join(' and ')}: remove one or the other`,
  ]
}

/**
 * Returns problems of settings that are valid alone, but not together. `env` is undefined
 * if a setting is invalid.
 */
function conflicts(given: Given, env: Env | undefined) {
  const { SMTP_URL, MAIL_FROM, DASHBOARD_CALLBACK_URLS } = given

  const kids = env?.SESSION_SIGNING_KEYS.published.map(({ kid }) => kid)
  return [
    SMTP_URL && !MAIL_FROM && 'MAIL_FROM is missing: SMTP_URL is set',
    MAIL_FROM && !SMTP_URL && 'SMTP_URL is missing: MAIL_FROM is set',
    DASHBOARD_CALLBACK_URLS &&
      'DASHBOARD_CALLBACK_URLS was removed: register each dashboard with `npm run clients -- add`, see docs/clients.md',
    // Anybody can get a widget JWT. A service that checks only the signature must not
    // accept it as a session JWT.
    env?.WIDGET_SIGNING_KEYS?.published.some(({ kid }) => kids?.includes(kid)) &&
      'WIDGET_SIGNING_KEYS must not have a key of SESSION_SIGNING_KEYS',
    env?.METRICS_PORT === Number(given.PORT ?? 3_000) &&
      'METRICS_PORT must not be the port of the server (PORT)',
    env?.SECOND_FACTOR &&
      !env.PASSWORD_SIGN_IN &&
      'SECOND_FACTOR needs PASSWORD_SIGN_IN=true',
    env?.SECOND_FACTOR &&
      !env.ENCRYPTION_KEY &&
      `ENCRYPTION_KEY is missing: SECOND_FACTOR is ${env.SECOND_FACTOR}`,
    env?.SETUP_LINKS &&
      !env.ENCRYPTION_KEY &&
      'ENCRYPTION_KEY is missing: SETUP_LINKS is true',
    ...(env ? passkeyProblems(env) : []),
  ]
}

/** Returns why browsers would not use passkeys with these settings. */
function passkeyProblems({
  PASSKEYS,
  PASSWORD_SIGN_IN,
  PASSKEY_DOMAIN,
  PUBLIC_URL,
}: Env) {
  if (!PASSKEYS) return []

  const { protocol, hostname } = new URL(PUBLIC_URL)
  const isLocal = /(^|\.)localhost$/.test(hostname)
  const isParent = PASSKEY_DOMAIN && `.${hostname}`.endsWith(`.${PASSKEY_DOMAIN}`)

  return [
    !PASSWORD_SIGN_IN && 'PASSKEYS needs PASSWORD_SIGN_IN=true',
    isIP(hostname.replace(/^\[|\]$/g, '')) !== 0 &&
      'PASSKEYS needs a host name in PUBLIC_URL, such as localhost, instead of an IP address',
    protocol === 'http:' &&
      !isLocal &&
      'PASSKEYS needs a PUBLIC_URL that begins with https://, unless its host is localhost',
    PASSKEY_DOMAIN &&
      !isParent &&
      'PASSKEY_DOMAIN must be the host of PUBLIC_URL or a parent domain of it',
  ]
}

/**
 * Whether users reach this service over https. Also true if PUBLIC_URL is unset, which is
 * possible only on Vercel.
 */
export function isHttps(): boolean {
  return !process.env.PUBLIC_URL?.trim().toLowerCase().startsWith('http://')
}

/** Whether this service sends email. Without email, it has no forgot-password page. */
export function sendsMail(): boolean {
  return env().SMTP_URL !== undefined
}

/** Whether this service records events (docs/operate.md). */
export function recordsEvents(): boolean {
  return env().EVENTS_DAYS > 0
}

/**
 * Exits unless the settings are valid. Next.js would otherwise run, and respond to every
 * request with 500.
 */
export function stopUnlessConfigured(): void {
  try {
    env()
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}
