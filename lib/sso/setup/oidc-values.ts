import { UsageError } from '../../usage-error'
import { checkEntered } from '../manage/settings-as-entered'
import { isEntra, namesTenant, OidcSettings } from '../oidc/settings'
import { findProblems, probeProvider } from '../oidc/setup'
import { SignInRejected } from '../rejection'
import { createBinding, decryptSecrets, encryptSecrets } from '../secrets'
import { SetupProblem } from './problem'
import type { Target } from './target'
import { demandSameIssuer, type EnteredValues, type NewValues } from './values'

type Entered = Extract<EnteredValues, { protocol: 'oidc' }>

const metadataPath = '/.well-known/openid-configuration'

/**
 * Returns the settings of an OpenID provider, after test requests to it. Throws
 * SetupProblem.
 */
export async function readOidcValues(
  target: Target,
  entered: Entered,
  isRenewal: boolean,
): Promise<NewValues> {
  const stored = readStored(target)
  const settings = isRenewal
    ? readRenewed(entered, stored)
    : readSettings(entered, stored)
  await demandSameIssuer(target.connection, settings.issuer)

  const secrets = await readSecrets(target, settings, entered)
  const { id } = target.connection ?? target.draft
  const encryptedSecrets = await encryptSecrets(secrets, createBinding({ id, settings }))
  const probed = { ...createProbed(target), id, settings, encryptedSecrets }
  const { issuer, notes } = await probe(probed)

  // users are linked to the issuer as it is stored
  if (settings.issuer === stored?.issuer) return { settings, secrets, notes }

  return { settings: { ...settings, issuer }, secrets, notes }
}

function readStored({ connection }: Target): OidcSettings | null {
  return connection?.settings.kind === 'oidc' ? connection.settings : null
}

function readRenewed(
  { issuer, clientId, clientSecret }: Entered,
  stored: OidcSettings | null,
): OidcSettings {
  const isOnlySecret = issuer === undefined && clientId === undefined
  if (!isOnlySecret || !clientSecret || !stored)
    throw new SetupProblem('Enter the new client secret, and nothing else.')

  return stored
}

/** What an operator has set stays, unless the provider changes. */
function readSettings(entered: Entered, stored: OidcSettings | null): OidcSettings {
  const issuer = readIssuer(entered.issuer ?? '')
  const clientId = entered.clientId?.trim() ?? ''
  if (isEntra(issuer) && !namesTenant(issuer))
    throw new SetupProblem(
      'The issuer must contain the ID of your tenant: https://login.microsoftonline.com/TENANT-ID/v2.0',
    )

  const kept = stored?.issuer === issuer ? stored : {}
  try {
    const given = { ...kept, kind: 'oidc', issuer, clientId, publicOnly: true }
    return checkEntered(OidcSettings, given, (setting) => labels[setting] ?? setting)
  } catch (error) {
    if (error instanceof UsageError) throw new SetupProblem(error.message)
    throw error
  }
}

const labels: Record<string, string> = {
  issuer: 'The issuer',
  clientId: 'The client ID',
}

/** People copy the URL of the metadata instead of the issuer. */
function readIssuer(text: string): string {
  const issuer = text.trim()
  return issuer.endsWith(metadataPath) ? issuer.slice(0, -metadataPath.length) : issuer
}

async function readSecrets(
  { connection }: Target,
  settings: OidcSettings,
  { clientSecret }: Entered,
): Promise<{ clientSecret: string }> {
  const given = clientSecret?.trim() ?? ''
  if (/\s/.test(given)) throw new SetupProblem('The client secret contains a space.')
  if (given) return { clientSecret: given }

  const stored = connection?.settings
  const isSameClient =
    stored?.kind === 'oidc' &&
    stored.issuer === settings.issuer &&
    stored.clientId === settings.clientId
  if (!isSameClient)
    throw new SetupProblem(
      stored
        ? 'The issuer or the client ID has changed: enter the client secret too.'
        : 'Enter the client secret.',
    )

  return (await decryptSecrets(connection!)) as { clientSecret: string }
}

/** The other columns of the connection, which the test requests do not use. */
function createProbed({ slug, name, connection }: Target) {
  return {
    slug,
    name,
    provision: connection?.provision ?? false,
    allowPasswords: connection?.allowPasswords ?? false,
    sessionHours: connection?.sessionHours ?? null,
  }
}

const rejectedClient =
  'The provider rejects the client ID or the client secret. If both are right, let it authenticate the client with client_secret_basic.'

/** What the holder can do about a failed test request. */
const remedies: Record<string, string> = {
  discovery_issuer:
    'The provider names itself differently. Compare the issuer with “issuer” in its metadata, to the last slash.',
  discovery_response:
    'There is no metadata below this issuer, at /.well-known/openid-configuration. Is it the issuer of an OpenID provider?',
  discovery_metadata:
    'The metadata of the provider lacks an authorization endpoint, a token endpoint, or the keys.',
  provider_keys: 'The keys of the provider can’t be fetched.',
  provider_keys_empty: 'The provider publishes no key: choose an RSA or EC key there.',
  provider_timeout: 'The provider did not respond within 5 seconds. Try again.',
  provider_unreachable: 'The provider can’t be reached from here. Check the issuer.',
  provider_address:
    'The host of the provider has no public address. A provider in your own network can’t be used with this link: ask your contact.',
  provider_response_size: 'The metadata of the provider is too large.',
  provider_http: 'The metadata of the provider has URLs with http.',
  token_invalid_client: rejectedClient,
  token_unauthorized_client: rejectedClient,
}

type Probed = Parameters<typeof probeProvider>[0]

/**
 * Sends test requests. Returns the issuer as the provider writes it, possibly with another
 * slash at its end, and what the requests show. Throws SetupProblem if they fail.
 */
async function probe(connection: Probed): Promise<{ issuer: string; notes: string[] }> {
  const { settings } = connection
  const withoutSlash = (issuer: string) => issuer.replace(/\/$/, '')

  try {
    const { metadata, outcome } = await probeProvider(connection)
    const isSame = withoutSlash(metadata.issuer) === withoutSlash(settings.issuer)

    return {
      issuer: isSame ? metadata.issuer : settings.issuer,
      notes: findProblems(settings, metadata, outcome),
    }
  } catch (error) {
    if (!(error instanceof SignInRejected)) throw error

    const remedy = remedies[error.check] ?? 'The provider can’t be used like this.'
    throw new SetupProblem(`${remedy} Nothing was saved. (${error.check})`)
  }
}
