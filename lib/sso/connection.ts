import * as z from 'zod'
import { toAsciiDomain } from '../contract/email-address'
import { liveConnectionOf } from '../database/domain-rules'
import { type Prisma, prisma } from '../database/prisma'
import { OidcSettings } from './oidc/settings'
import { SamlSettings } from './saml/settings'

/** The settings of each kind of identity provider (lib/sso/kinds.ts). */
export const ConnectionSettings = z.discriminatedUnion('kind', [
  OidcSettings,
  SamlSettings,
])
export type ConnectionSettings = z.output<typeof ConnectionSettings>

/**
 * The kind of a connection whose provider is not known yet (lib/sso/setup/draft.ts). It is
 * disabled, and no settings are valid for it.
 */
export const draftKind = 'draft'

export const slugPattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/ // a segment of a path

export type Row = Prisma.ConnectionGetPayload<object>

export type Connection = Omit<
  Row,
  'kind' | 'settings' | 'listed' | 'disabledAt' | 'triedAt' | 'createdAt'
> & {
  settings: ConnectionSettings
}

export type OidcConnection = Connection & { settings: OidcSettings }
export type SamlConnection = Connection & { settings: SamlSettings }

export function isSaml<Known extends Connection>(
  connection: Known,
): connection is Known & SamlConnection {
  return connection.settings.kind === 'saml'
}

/** Returns the enabled connection with a slug, or null. The slug may be any text. */
export async function findConnection(slug: string): Promise<Connection | null> {
  const found = await findRow(slug)
  return found && !found.disabledAt ? parseRow(found) : null
}

/** A connection that can be disabled. Test sign-ins work nevertheless. */
export type FoundConnection = Connection & { isDisabled: boolean }

/**
 * Returns the connection with a slug, enabled or not, or null. Null too if it is disabled
 * and its settings are invalid.
 */
export async function findAnyConnection(slug: string): Promise<FoundConnection | null> {
  const found = await findRow(slug)
  if (!found) return null

  const isDisabled = found.disabledAt !== null
  if (isDisabled && !isUsable(found)) return null

  return { ...parseRow(found), isDisabled }
}

type FoundRow = Omit<Row, 'listed' | 'triedAt' | 'createdAt'>

async function findRow(slug: string): Promise<FoundRow | null> {
  if (!slugPattern.test(slug)) return null

  return prisma().connection.findFirst({
    where: { slug },
    omit: { listed: true, triedAt: true, createdAt: true },
  })
}

function parseRow({ kind, settings, disabledAt: _, ...row }: FoundRow): Connection {
  return { ...row, settings: parseSettings(row.slug, { ...(settings as object), kind }) }
}

function isUsable({ kind, settings }: FoundRow): boolean {
  return ConnectionSettings.safeParse({ ...(settings as object), kind }).success
}

/**
 * Validates the settings of a connection. Throws an error whose message is for operators:
 * stored settings can become invalid, for example if PUBLIC_URL changes to https.
 */
export function parseSettings(slug: string, settings: object): ConnectionSettings {
  const { data, error } = ConnectionSettings.safeParse(settings)
  if (data) return data

  const problems = error.issues.map(
    ({ path, message }) => `its setting ${path.join('.')} ${message}`,
  )
  throw new Error(
    `The connection ${slug} can’t be used: ${problems.join('; ')}. Change or remove it with npm run connections.`,
  )
}

/**
 * Returns the slug of the enabled connection that is live for the domain of an email
 * address, or null.
 */
export async function findConnectionByEmail(email: string): Promise<string | null> {
  const domain = readDomain(email)
  if (!domain) return null

  const [row] = await prisma().$queryRaw<{ slug: string }[]>`
    SELECT slug FROM connections WHERE ${liveConnectionOf(domain)}`

  return row?.slug ?? null
}

type Choice = { slug: string; name: string; listed: boolean; isLive: boolean }

/**
 * Returns the connections that the sign-in page lists, whether there is any connection, and
 * whether any typed address leads to one. `slug > ''` excludes no row, but makes PostgreSQL
 * read by key.
 */
export async function listSignInChoices(): Promise<{
  listed: { slug: string; name: string }[]
  any: boolean
  anyLive: boolean
}> {
  const rows = await prisma().$queryRaw<Choice[]>`
    SELECT slug, name, listed,
      (SELECT true FROM connection_domains
        WHERE connection_id = connections.id AND live_since IS NOT NULL LIMIT 1) IS TRUE AS "isLive"
    FROM connections WHERE slug > '' AND disabled_at IS NULL ORDER BY slug`

  const listed = rows
    .filter((row) => row.listed)
    .map(({ slug, name }) => ({ slug, name }))

  return { listed, any: rows.length > 0, anyLive: rows.some(({ isLive }) => isLive) }
}

/** Returns the domain of an email address in its ASCII form (RFC 5891), or null. */
export function readDomain(email: string): string | null {
  const at = email.lastIndexOf('@')
  return at < 0 ? null : parseDomain(email.slice(at + 1))
}

/**
 * Returns a domain in ASCII and lower case, or null if the text is not a domain of
 * several labels.
 */
export function parseDomain(text: string): string | null {
  const domain = toAsciiDomain(text)
  return domain?.includes('.') ? domain : null
}

/**
 * Returns the path at which a sign-in through a connection starts. `reason` is a
 * parameter that explains the start.
 */
export function createStartPath(
  slug: string,
  next?: string | null,
  reason?: 'unsolicited' | 'again' | 'again=new',
): string {
  const parameters: string[] = []
  if (next) parameters.push(`next=${encodeURIComponent(next)}`)
  if (reason) parameters.push(reason)

  const path = `/api/auth/sso/${slug}/start`
  return parameters.length > 0 ? `${path}?${parameters.join('&')}` : path
}
