import { X509Certificate } from 'node:crypto'
import { newSecret } from '../../crypto/token'
import { sendRequest } from '../../outgoing'
import { UsageError } from '../../usage-error'
import type { SamlConnection } from '../connection'
import { checkEntered } from '../manage/settings-as-entered'
import type { Entered, Provider } from '../provider'
import { SignInRejected } from '../rejection'
import { decryptSecrets } from '../secrets'
import { ssoUrl } from '../urls'
import { newKeyPair } from './key-pair'
import { readProviderMetadata } from './provider-metadata'
import { authnRequestUrl, verifyResponse, withKeys } from './service-provider'
import { SamlSettings } from './settings'

type SamlProvider = Provider<SamlConnection>

const timeoutMs = 5_000
const soonMs = 30 * 24 * 60 * 60 * 1000
const signedText = {
  either: 'the response, the assertion, or both',
  response: 'the response',
  assertion: 'the assertion',
  both: 'the response and the assertion',
}

const describe: SamlProvider['describe'] = ({ slug, settings }) => ({
  settings: [
    `sign-on endpoint: ${settings.ssoUrl}`,
    ...settings.certificates.map((pem) => `certificate ${certificateText(pem)}`),
    `our certificate ${certificateText(settings.certificate)}`,
    ...(settings.nextCertificate
      ? [`our next certificate ${certificateText(settings.nextCertificate)}`]
      : []),
  ],
  entries: {
    'entity ID, metadata URL': ssoUrl(slug, 'metadata'),
    'ACS URL (HTTP-POST)': ssoUrl(slug, 'acs'),
    NameID: 'persistent; not transient',
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

const check: SamlProvider['check'] = async (connection) => {
  const failed = (check: string, advice: string) =>
    new Error(`${connection.slug}: ${check}. ${advice}`)
  try {
    const url = await authnRequestUrl(await withKeys(connection), {
      id: `_${newSecret()}`,
      relayState: newSecret(),
    })

    const { statusCode, body } = await sendRequest(url, {
      signal: AbortSignal.timeout(timeoutMs),
    })
    body.on('error', () => {}).destroy() // only the status is used

    return {
      summary: `the provider’s sign-on endpoint responds with ${statusCode}.`,
      problems: [
        ...(statusCode >= 400
          ? [
              'It rejects our request: is this service registered there? If so, import its current metadata.',
            ]
          : []),
        // An expired certificate still works, but the provider will probably use a new
        // one soon.
        ...expiringCertificates(connection.settings).map(({ whose, endsAt }) => {
          const ends = `${endsAt <= Date.now() ? 'expired' : 'expires'} on ${dateOf(endsAt)}`
          if (whose === 'provider')
            return `The last certificate ${ends}: import new metadata.`
          return `Our certificate ${ends}: npm run connections -- rotate-key ${connection.slug}`
        }),
      ],
    }
  } catch (error) {
    if (error instanceof SignInRejected) throw failed(error.check, closedKey)
    if ((error as Error).name === 'TimeoutError')
      throw failed(
        'provider_timeout',
        `The provider did not respond within ${timeoutMs / 1000} seconds.`,
      )

    throw failed(
      'provider_unreachable',
      'The provider can’t be reached from here. Its users’ browsers might reach it.',
    )
  }
}

const add: SamlProvider['add'] = {
  usage: `npm run connections -- add saml SLUG --metadata FILE --domain DOMAIN [--domain …]
    adds a SAML provider from its metadata (- for stdin), and prints what to enter at the provider.
    --metadata          also takes an https URL
    --want-signed WHAT  response, assertion, both or, by default, either
    --sign-requests     signs requests, even if the metadata does not demand it
    --email-attribute NAME   the attribute with the email address, if it is not one of the usual ones; or NameID`,
  flags: {
    metadata: { type: 'string' },
    'want-signed': { type: 'string' },
    'sign-requests': { type: 'boolean' },
    'email-attribute': { type: 'string' },
  },
  async settingsFrom({ slug, stored }, flags, read) {
    const {
      metadata,
      'want-signed': wanted = stored?.signed ?? 'either',
      'sign-requests': signRequests,
    } = flags

    if (stored && Object.keys(flags).length === 0)
      throw new UsageError('Pass what is to be changed, such as --metadata.')

    const { data: signed, error } = SamlSettings.shape.signed.safeParse(wanted)
    if (error)
      throw new UsageError(
        `--want-signed must be one of: ${Object.keys(signedText).join(', ')}.`,
      )

    const emailAttribute =
      (flags['email-attribute'] ?? stored?.emailAttribute) || undefined

    const own = {
      ...stored,
      signed,
      signRequests: signRequests ?? stored?.signRequests ?? false,
      emailAttribute,
    }

    if (stored && metadata === undefined)
      return { settings: settingsOf(own), secrets: null, notes: [] }
    if (!metadata)
      throw new UsageError(
        '--metadata is required: a file or an https URL, or - for stdin.',
      )

    const found = readProviderMetadata(await read(String(metadata)), stored?.certificates)
    const { entityId: issuer, ssoUrl, wantsSignedRequests } = found
    if (stored && issuer !== stored.issuer)
      throw new UsageError(
        `The metadata is of ${issuer}, but ${slug} is ${stored.issuer}. Add it as another connection.`,
      )

    const pair = stored ? null : await newKeyPair(slug)
    const settings = settingsOf({
      ...own,
      ...(pair && { certificate: pair.certificate }),
      ...(wantsSignedRequests && { signRequests: true }),
      kind: 'saml',
      issuer,
      ssoUrl,
      certificates: found.certificates,
    })

    const switchesOn = wantsSignedRequests && !own.signRequests
    const kept = found.certificates.filter((pem) => stored?.certificates.includes(pem))

    const notes = [
      ...kept.map((pem) => `Certificate kept: ${certificateText(pem)}`),
      ...found.notes,
      ...(switchesOn ? ['The metadata demands signed requests: they are signed.'] : []),
    ]

    return { settings, secrets: pair && { privateKey: pair.privateKey }, notes }
  },
}

const names: Record<string, string> = {
  issuer: 'entityID',
  ssoUrl: 'SingleSignOnService',
}

function settingsOf(entered: object): SamlSettings {
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
  const { nextCertificate, ...settings } = connection.settings
  const secrets = await decryptSecrets(connection).catch(() => null)

  if (drop && nextCertificate && secrets) {
    const second = { privateKey: secrets.nextPrivateKey! }
    return {
      settings: { ...settings, certificate: nextCertificate },
      secrets: second,
      notes: [],
    }
  }

  if (drop) throw new UsageError(`${slug} has no second key that can be decrypted.`)
  if (nextCertificate && secrets)
    throw new UsageError(`${slug} has two keys: drop the first one, with --drop.`)

  const { privateKey, certificate } = await newKeyPair(slug)
  const enter = `Let the provider read ${ssoUrl(slug, 'metadata')} again, or enter there:\n${certificate}`
  const lost = ['The earlier key is lost.', enter]

  if (!secrets)
    return {
      settings: { ...settings, certificate },
      secrets: { privateKey },
      notes: lost,
    }

  const both = { privateKey: secrets.privateKey!, nextPrivateKey: privateKey }
  const then = `Then: npm run connections -- rotate-key ${slug} --drop`

  return {
    settings: { ...settings, nextCertificate: certificate },
    secrets: both,
    notes: [enter, then],
  }
}

/**
 * Returns whose certificates expire within 30 days, and when. For the provider, uses the
 * one that expires last.
 */
export function expiringCertificates({
  certificates,
  certificate,
  nextCertificate,
}: SamlSettings) {
  const ends = {
    provider: Math.max(...certificates.map(endOf)),
    own: endOf(nextCertificate ?? certificate),
  }
  return Object.entries(ends).flatMap(([whose, endsAt]) =>
    endsAt <= Date.now() + soonMs ? [{ whose, endsAt }] : [],
  )
}

function endOf(pem: string): number {
  return Date.parse(new X509Certificate(pem).validTo)
}

/** Returns the text by which an operator recognizes a certificate. */
export function certificateText(pem: string): string {
  return `${new X509Certificate(pem).fingerprint256.slice(0, 23)}… until ${dateOf(endOf(pem))}`
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

export const saml: SamlProvider = {
  response: 'form',
  authorize: async (connection, { requestId: id, state: relayState }, ask = null) =>
    authnRequestUrl(await withKeys(connection), {
      id,
      relayState,
      forceAuthn: ask !== null,
    }),
  authenticate: async (connection, response, secrets) =>
    verifyResponse(
      await withKeys(connection),
      response.get('SAMLResponse') ?? '',
      secrets,
    ),
  describe,
  check,
  add,
}
