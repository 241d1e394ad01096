// What `npm run connections` does differently for SAML providers.
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { acsUrl, entityId, type SamlConnection } from '../connection'
import type { ListedConnection, NewConnection } from '../manage'
import { NewConnectionSettings, type SamlSettings } from '../settings'
import { UsageError } from '../usage-error'
import { newKeyPair } from './key-pair'
import { ProviderMetadataError, readProviderMetadata } from './provider-metadata'

const soonMs = 30 * 24 * 60 * 60 * 1000
const timeoutMs = 5_000
const signedParts = ['response', 'assertion', 'both'] as const

type Flags = {
  metadata?: string
  'want-signed'?: string
  'sign-requests'?: boolean
  'email-attribute'?: string
}

/** Reads the provider's metadata, and makes a key pair of ours. Returns the settings and the secret. */
export async function newSamlSettings(
  slug: string,
  { metadata, 'want-signed': wanted, 'sign-requests': signRequests, 'email-attribute': emailAttribute }: Flags,
): Promise<Pick<NewConnection, 'settings' | 'secrets'>> {
  const signed = wanted === undefined ? 'either' : signedParts.find((part) => part === wanted)
  if (!signed) throw new UsageError(`--want-signed must be one of: ${signedParts.join(', ')}.`)
  const { provider, wantsSignedRequests } = await providerIn(metadata)
  const { privateKey, certificate } = await newKeyPair(slug)
  const settings = NewConnectionSettings.safeParse({
    kind: 'saml',
    ...provider,
    certificate,
    signed,
    signRequests: signRequests || wantsSignedRequests,
    ...(emailAttribute && { emailAttribute }),
  })
  if (!settings.success) throw unusable(settings.error.issues)
  return { settings: settings.data, secrets: { privateKey } }
}

type Provider = { issuer: string; ssoUrl: string; certificates: string[] }

async function providerIn(file: string | undefined): Promise<{ provider: Provider; wantsSignedRequests: boolean }> {
  if (!file) throw new UsageError('--metadata is required: a file with the metadata of the provider, or - for stdin.')
  try {
    const xml = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8'))
    const { entityId: issuer, ssoUrl, certificates, wantsSignedRequests } = readProviderMetadata(xml)
    return { provider: { issuer, ssoUrl, certificates: certificates.map(({ pem }) => pem) }, wantsSignedRequests }
  } catch (error) {
    if (error instanceof ProviderMetadataError) throw new UsageError(error.message)
    const isOfFile = (error as NodeJS.ErrnoException).syscall !== undefined
    if (isOfFile) throw new UsageError(`${file === '-' ? 'stdin' : file} can’t be read.`)
    throw error
  }
}

function unusable(issues: { path: PropertyKey[]; message: string }[]): UsageError {
  const names: Record<string, string> = {
    issuer: 'entityID',
    ssoUrl: 'SingleSignOnService',
    certificates: 'certificates',
  }
  const problems = issues.map(
    ({ path, message }) => `The provider’s ${names[String(path[0])] ?? 'metadata'} ${message}.`,
  )
  return new UsageError(problems.join('\n'))
}

/** Replaces the provider's endpoint and certificates with those of its current metadata. */
export async function updateSaml(
  connection: ListedConnection & SamlConnection,
  file: string | undefined,
): Promise<void> {
  const { updateProvider } = await import('../manage')
  const { slug, settings } = connection
  const { provider } = await providerIn(file)
  const updated = NewConnectionSettings.safeParse({ ...settings, ...provider })
  if (!updated.success) throw unusable(updated.error.issues)
  const { issuer, ssoUrl, certificates } = updated.data as SamlSettings
  if (!(await updateProvider(connection, { issuer, ssoUrl, certificates })))
    throw new UsageError(
      `The metadata is of ${issuer}, but ${slug} is ${settings.issuer}. Add it as another connection.`,
    )
  console.log(`Updated ${slug}.`)
  for (const line of certificateLines(certificates)) console.log(line)
}

/** Prints what an operator has to enter at the provider. */
export function printSamlEntries({ slug, settings }: ListedConnection & SamlConnection): void {
  console.log(`
At the identity provider, enter:
  entity ID, metadata URL      ${entityId(slug)}
  ACS URL (HTTP-POST)          ${acsUrl(slug)}
  NameID                       persistent; not transient
  attribute mail or email      the e-mail address${settings.emailAttribute ? `; here: ${settings.emailAttribute}` : ''}
  sign                         ${signedText[settings.signed]}, with RSA-SHA256
  encrypt assertions           optional, with the certificate in our metadata
  requests                     ${settings.signRequests ? 'signed with the certificate in our metadata' : 'not signed'}`)
}

const signedText = {
  either: 'the response, the assertion, or both',
  response: 'the response',
  assertion: 'the assertion',
  both: 'the response and the assertion',
}

/** Prints the settings of a connection that are the provider's. */
export function showSaml({ settings }: SamlConnection): void {
  console.log(`sign-on endpoint: ${settings.ssoUrl}`)
  for (const line of certificateLines(settings.certificates)) console.log(line)
}

function certificateLines(certificates: string[]): string[] {
  return certificates.map((pem) => {
    const { fingerprint256 } = new X509Certificate(pem)
    return `certificate ${fingerprint256.slice(0, 23)}… until ${dateOf(endOf(pem))}`
  })
}

function endOf(pem: string): number {
  return Date.parse(new X509Certificate(pem).validTo)
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

/** Sends the provider a request, and names what is wrong. Throws an error if nobody can sign in. */
export async function checkSaml(connection: ListedConnection & SamlConnection): Promise<void> {
  const { slug, settings, disabledAt } = connection
  const { samlRequestUrl } = await import('./sign-in')
  const { SignInRejected } = await import('../rejection')
  const { newSecret } = await import('../../secret')
  const { sendRequest } = await import('../../outgoing')
  const fail = (check: string, advice: string) => new Error(`${slug}: ${check}. ${advice}`)

  const now = Date.now()
  const lastEnd = Math.max(...settings.certificates.map(endOf))
  const url = await samlRequestUrl(connection, { requestId: `_${newSecret()}`, state: newSecret() }).catch((error) => {
    if (!(error instanceof SignInRejected)) throw error
    throw fail(
      error.check,
      'Our key can’t be opened: CONNECTION_SECRETS_KEY has changed. Remove the connection, and add it again.',
    )
  })
  const response = await sendRequest(url, { signal: AbortSignal.timeout(timeoutMs) }).catch((error) => {
    if (error.name === 'TimeoutError')
      throw fail('provider_timeout', `The provider did not respond within ${timeoutMs / 1000} seconds.`)
    throw fail('provider_unreachable', 'The provider can’t be reached from here. Its users’ browsers might reach it.')
  })
  response.body.on('error', () => {}).destroy() // only its status counts
  console.log(`${slug}: the provider’s sign-on endpoint responds with ${response.statusCode}.`)
  const problems = [
    ...(response.statusCode >= 400
      ? ['It rejects our request: is this service registered there? If so, import its current metadata.']
      : []),
    // Only the key of a certificate counts (SAML Metadata Interoperability §2.6.1): this breaks nothing,
    // but the provider is likely to sign with another one soon.
    ...(lastEnd <= now + soonMs
      ? [`The last certificate ${lastEnd <= now ? 'expired' : 'expires'} on ${dateOf(lastEnd)}: import new metadata.`]
      : []),
    ...(disabledAt ? ['The connection is disabled.'] : []),
  ]
  for (const problem of problems) console.log(`  ${problem}`)
}
