import { newSecret } from '../../crypto/token'
import { sendRequest } from '../../outgoing'
import { UsageError } from '../../usage-error'
import type { SamlConnection } from '../connection'
import {
  checkEntered,
  explainOtherIssuer,
  publicOnlyLine,
} from '../manage/settings-as-entered'
import type { Entered, Flags, ProviderSetup } from '../provider'
import { SignInRejected } from '../rejection'
import { decryptSecrets, type Secrets } from '../secrets'
import { ssoUrl } from '../urls'
import { describeCertificate, findExpiringCertificates, formatDate } from './certificates'
import { newKeyPair } from './key-pair'
import { readProviderMetadata } from './provider-metadata'
import { SamlSettings } from './settings'
import { createAuthnRequestUrl, decryptKeys } from './sign-in'

type SamlSetup = ProviderSetup<SamlConnection>

const timeoutMs = 5_000
const signedText = {
  either: 'the response, the assertion, or both',
  response: 'the response',
  assertion: 'the assertion',
  both: 'the response and the assertion',
}

const describe: SamlSetup['describe'] = ({ slug, settings }) => ({
  settings: [
    `sign-on endpoint: ${settings.ssoUrl}`,
    ...settings.certificates.map((pem) => `certificate ${describeCertificate(pem)}`),
    `our certificate ${describeCertificate(settings.certificate)}`,
    ...(settings.nextCertificate
      ? [`our next certificate ${describeCertificate(settings.nextCertificate)}`]
      : []),
    ...(settings.publicOnly ? [publicOnlyLine] : []),
  ],
  entries: {
    'entity ID, metadata URL': ssoUrl(slug, 'metadata'),
    'ACS URL (HTTP-POST)': ssoUrl(slug, 'acs'),
    NameID: settings.nameIdFormat ?? 'persistent; not transient',
    'attribute mail or email': `the email address${settings.emailAttribute ? `; here: ${settings.emailAttribute}` : ''}`,
    sign: `${signedText[settings.signed]}, with RSA-SHA256`,
    'encrypt assertions': 'optional, with the certificate in our metadata',
    requests: settings.signRequests
      ? 'signed with the certificate in our metadata'
      : 'not signed',
  },
})

const closedKey =
  'Our key can’t be decrypted: ENCRYPTION_KEY has changed. If its earlier value is lost: npm run connections -- rotate-key SLUG'

const check: SamlSetup['check'] = async (connection) => {
  try {
    const url = await createAuthnRequestUrl(await decryptKeys(connection), {
      id: `_${newSecret()}`,
      relayState: newSecret(),
    })

    const { statusCode, body } = await sendRequest(url, {
      signal: AbortSignal.timeout(timeoutMs),
      publicOnly: connection.settings.publicOnly ?? false,
    })
    body.on('error', () => {}).destroy() // only the status is used

    return {
      summary: `the provider’s sign-on endpoint responds with ${statusCode}.`,
      problems: findProblems(connection, statusCode),
    }
  } catch (error) {
    throw explainFailure(connection, error)
  }
}

function findProblems({ slug, settings }: SamlConnection, statusCode: number): string[] {
  const problems: string[] = []
  if (statusCode >= 400)
    problems.push(
      'It rejects our request: is this service registered there? If so, import its current metadata.',
    )

  // An expired certificate still works, but the provider will probably use a new one soon.
  for (const { whose, endsAt } of findExpiringCertificates(settings)) {
    const ends = `${endsAt <= Date.now() ? 'expired' : 'expires'} on ${formatDate(endsAt)}`
    problems.push(
      whose === 'provider'
        ? `The last certificate ${ends}: import new metadata.`
        : `Our certificate ${ends}: npm run connections -- rotate-key ${slug}`,
    )
  }

  return problems
}

function explainFailure({ slug }: SamlConnection, error: unknown): Error {
  if (error instanceof SignInRejected)
    return new Error(`${slug}: ${error.check}. ${closedKey}`)

  if ((error as Error).name === 'TimeoutError')
    return new Error(
      `${slug}: provider_timeout. The provider did not respond within ${timeoutMs / 1000} seconds.`,
    )

  return new Error(
    `${slug}: provider_unreachable. The provider can’t be reached from here. Its users’ browsers might reach it.`,
  )
}

const readIssuer: SamlSetup['readIssuer'] = async ({ settings }) => settings.issuer

const add: SamlSetup['add'] = {
  description:
    'adds a SAML provider from its --metadata, which is required, and prints what to enter at the provider',
  flags: {
    metadata: {
      value: 'file or url',
      text: 'a file, an https URL, or - for stdin. With update, replaces the endpoint and the certificates',
    },
    'want-signed': {
      value: 'what',
      text: 'response, assertion, both or, by default, either',
    },
    'sign-requests': { text: 'signs requests, even if the metadata does not demand it' },
    'name-id-format': {
      value: 'format',
      text: 'persistent or emailAddress: the format of the NameID that requests name, for a provider that otherwise sends transient',
    },
    'email-attribute': {
      value: 'name',
      text: 'the attribute with the email address, if it is not one of the usual ones; or NameID',
    },
  },
  async settingsFrom({ slug, stored }, flags, read) {
    const { metadata } = flags
    if (stored && Object.keys(flags).length === 0)
      throw new UsageError('Pass what is to be changed, such as --metadata.')

    const own = { ...stored, ...readOwnFlags(flags, stored) }
    if (stored && metadata === undefined)
      return { settings: checkSettings(own), secrets: null, notes: [] }
    if (!metadata)
      throw new UsageError(
        '--metadata is required: a file or an https URL, or - for stdin.',
      )

    const found = readProviderMetadata(await read(String(metadata)), stored?.certificates)
    const { entityId: issuer, ssoUrl, certificates, wantsSignedRequests } = found
    if (stored && issuer !== stored.issuer && !flags['same-users'])
      throw new UsageError(
        explainOtherIssuer({ slug, stored, issuer }, `--metadata ${metadata}`),
      )

    const pair = stored ? null : await newKeyPair(slug)
    const settings = checkSettings({
      ...own,
      ...(pair && { certificate: pair.certificate }),
      ...(wantsSignedRequests && { signRequests: true }),
      kind: 'saml',
      issuer,
      ssoUrl,
      certificates,
      publicOnly: undefined, // operators may name a provider in their own network
    })

    const kept = certificates.filter((pem) => stored?.certificates.includes(pem))
    const notes = kept.map((pem) => `Certificate kept: ${describeCertificate(pem)}`)
    notes.push(...found.notes)
    if (wantsSignedRequests && !own.signRequests)
      notes.push('The metadata demands signed requests: they are signed.')

    return { settings, secrets: pair && { privateKey: pair.privateKey }, notes }
  },
}

/** Returns the settings that are not in the provider's metadata. */
function readOwnFlags(flags: Flags, stored: SamlSettings | undefined) {
  const wanted = flags['want-signed'] ?? stored?.signed ?? 'either'
  const { data: signed, error } = SamlSettings.shape.signed.safeParse(wanted)
  if (error)
    throw new UsageError(
      `--want-signed must be one of: ${Object.keys(signedText).join(', ')}.`,
    )

  return {
    signed,
    signRequests: flags['sign-requests'] ?? stored?.signRequests ?? false,
    nameIdFormat: readNameIdFormat(flags['name-id-format'] ?? stored?.nameIdFormat),
    emailAttribute: (flags['email-attribute'] ?? stored?.emailAttribute) || undefined,
  }
}

/** Returns undefined for '', which removes the setting. */
function readNameIdFormat(given: unknown): SamlSettings['nameIdFormat'] {
  const { data, error } = SamlSettings.shape.nameIdFormat.safeParse(given || undefined)
  if (error) throw new UsageError('--name-id-format must be persistent or emailAddress.')

  return data
}

const names: Record<string, string> = {
  issuer: 'entityID',
  ssoUrl: 'SingleSignOnService',
}

function checkSettings(entered: object): SamlSettings {
  return checkEntered(
    SamlSettings,
    entered,
    (setting) => `The provider’s ${names[setting] ?? setting}`,
  )
}

/**
 * Adds a second key pair, or replaces all if none can be decrypted. With `drop`, the
 * second replaces the first.
 */
export async function rotateKey(
  connection: SamlConnection,
  drop = false,
): Promise<Entered> {
  const { slug } = connection
  const secrets = await readSecrets(connection)
  if (drop) return dropFirstKey(connection, secrets)

  const { nextCertificate, ...settings } = connection.settings
  if (nextCertificate && secrets)
    throw new UsageError(`${slug} has two keys: drop the first one, with --drop.`)

  const { privateKey, certificate } = await newKeyPair(slug)
  const enter = `Let the provider read ${ssoUrl(slug, 'metadata')} again, or enter there:\n${certificate}`
  if (!secrets)
    return {
      settings: { ...settings, certificate },
      secrets: { privateKey },
      notes: ['The earlier key is lost.', enter],
    }

  return {
    settings: { ...settings, nextCertificate: certificate },
    secrets: { privateKey: secrets.privateKey!, nextPrivateKey: privateKey },
    notes: [enter, `Then: npm run connections -- rotate-key ${slug} --drop`],
  }
}

function dropFirstKey(
  { slug, settings }: SamlConnection,
  secrets: Secrets | null,
): Entered {
  const { nextCertificate, ...others } = settings
  if (!nextCertificate || !secrets)
    throw new UsageError(`${slug} has no second key that can be decrypted.`)

  return {
    settings: { ...others, certificate: nextCertificate },
    secrets: { privateKey: secrets.nextPrivateKey! },
    notes: [],
  }
}

/** Returns null if the secrets can't be decrypted. */
async function readSecrets(connection: SamlConnection): Promise<Secrets | null> {
  try {
    return await decryptSecrets(connection)
  } catch {
    return null
  }
}

export const samlSetup: SamlSetup = { describe, check, readIssuer, add }
