import { z } from 'zod'
import { parseSigningKeys } from './signing-keys'

const flag = z.enum(['true', 'false']).transform((value) => value === 'true')
const webAddress = z.url({ protocol: /^https?$/, error: 'must be an address that begins with https:// or http://' })
const origin = webAddress
  .refine(
    (value) => new URL(value).href === `${new URL(value).origin}/`,
    'must be an origin, like https://login.example.com, without a path',
  )
  .transform((value) => new URL(value).origin)
/** Where a page leads on to: another site, or a path of this one. */
const place = z.union([webAddress, z.string().regex(/^\/(?![/\\])/)], {
  error: 'must be an address that begins with https://, or a path that begins with /',
})

const postgresAddress = z.url({
  protocol: /^postgres(ql)?$/,
  error: 'must be an address like postgresql://user:password@host:5432/database',
})

const Settings = z.object({
  DATABASE_URL: postgresAddress,
  DIRECT_DATABASE_URL: postgresAddress.optional(),
  DATABASE_POOLED: flag.default(false),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(1).max(500).default(10),
  PUBLIC_URL: origin,
  SESSION_SIGNING_KEYS: z.string().transform((json, context) => {
    try {
      return parseSigningKeys(json)
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message })
      return z.NEVER
    }
  }),
  SESSION_AUDIENCE: z.string().default('dashboard'),
  RATE_LIMIT: z.enum(['upstash', 'in-process']).optional(),
  UPSTASH_REDIS_REST_URL: webAddress.optional(),
  UPSTASH_REDIS_REST_TOKEN: z.string().optional(),
  TRUSTED_PROXIES: z.coerce.number().int().min(0).max(10).default(0),
  CRON_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  VERCEL: z.string().optional(),
  PASSWORD_MIN_LENGTH: z.coerce.number().int().min(8).max(64).default(8),
  PASSWORD_BREACH_CHECK: flag,
  PASSWORD_BREACH_URL: webAddress.default('https://api.pwnedpasswords.com'),
  APP_NAME: z.string().max(60).default('Dashboard'),
  ACCENT_COLOR: z
    .string()
    .regex(/^#[0-9a-f]{6}$/i, 'must be a colour like #0b6e4f')
    .default('#0b6e4f'),
  DASHBOARD_URL: place.default('/'),
  SIGN_IN_URL: place.default('/'),
  FORGOT_PASSWORD_URL: place.optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
})

export type Env = z.output<typeof Settings>

let known: Env | undefined

/** The settings, read and checked once. Throws one error that lists every setting that is missing or wrong, never its value. */
export function env(): Env {
  known ??= parseEnv(process.env)
  return known
}

/** Checks settings as `env` does, from any source. A setting that is empty counts as missing. */
export function parseEnv(source: Record<string, string | undefined>): Env {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value?.trim()))
  given.PUBLIC_URL ??= vercelAddress(given)
  given.PASSWORD_BREACH_CHECK ??= String(given.NODE_ENV === 'production')
  // the names under which Vercel's marketplace hands out an Upstash Redis
  given.UPSTASH_REDIS_REST_URL ??= given.KV_REST_API_URL
  given.UPSTASH_REDIS_REST_TOKEN ??= given.KV_REST_API_TOKEN
  const parsed = Settings.safeParse(given)
  const problems = (parsed.error?.issues ?? []).map(({ path, message }) => {
    const name = String(path[0])
    return `${name} ${given[name] === undefined ? 'is missing' : message}`
  })
  problems.push(...publicUrlProblems(given), ...rateLimitProblems(given))
  if (parsed.success && problems.length === 0) return parsed.data
  throw new Error(
    `These settings are missing or wrong (see .env.example):\n${problems.map((line) => `  ${line}`).join('\n')}`,
  )
}

/** Over plain http, codes, passwords and session cookies can be read on the way; loopback has none. */
function publicUrlProblems({ NODE_ENV, PUBLIC_URL }: Record<string, string | undefined>): string[] {
  if (NODE_ENV !== 'production' || !PUBLIC_URL || !URL.canParse(PUBLIC_URL)) return []
  const { protocol, hostname } = new URL(PUBLIC_URL)
  if (protocol !== 'http:' || isLoopback(hostname)) return []
  return ['PUBLIC_URL must begin with https:// in production, unless its host is localhost']
}

/** Expects a hostname as `URL` writes it: lower case, IPv4 in four decimal parts, IPv6 in brackets. */
function isLoopback(hostname: string): boolean {
  return /^(.+\.)?localhost$|^127(\.\d{1,3}){3}$|^\[::1\]$/.test(hostname)
}

/** Several processes need one place to count in. Doing without it in production has to be said out loud. */
function rateLimitProblems(given: Record<string, string | undefined>): string[] {
  const names = ['UPSTASH_REDIS_REST_URL', 'UPSTASH_REDIS_REST_TOKEN'] as const
  if (given.RATE_LIMIT === 'in-process') {
    const idle = names.filter((name) => given[name] !== undefined)
    return idle.length === 0
      ? []
      : [`RATE_LIMIT=in-process contradicts ${idle.join(' and ')}: leave out the one or the other`]
  }
  const missing = names.filter((name) => given[name] === undefined)
  if (missing.length === 0) return []
  if (missing.length === 1 || given.RATE_LIMIT === 'upstash') return missing.map((name) => `${name} is missing`)
  if (given.NODE_ENV !== 'production') return []
  return [
    `${names.join(' and ')} are missing: name an Upstash Redis, or say RATE_LIMIT=in-process where one process serves everybody`,
  ]
}

function vercelAddress(given: Record<string, string | undefined>): string | undefined {
  const host = given.VERCEL_ENV === 'production' ? given.VERCEL_PROJECT_PRODUCTION_URL : given.VERCEL_URL
  return host && `https://${host}`
}

/** Ends the process, with the list of what is wrong, unless every setting is right. Next.js would go on after an error and answer 500 for ever. */
export function stopUnlessConfigured(): void {
  try {
    env()
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}
