// What a test sign-in at an OpenID provider shows.
import type { OidcConnection } from '../connection'
import type { Expected, ProviderReport, Received, TraceEntry } from '../trace'
import { isEntra } from './settings'

type Json = Record<string, unknown>

/** The parameters of a response that the page shows. The others may be secrets. */
const shownParameters = ['iss', 'error', 'error_description', 'error_uri']

const shownErrors = ['error', 'error_description', 'error_uri']

export const oidcReport: ProviderReport<OidcConnection> = {
  verification: [
    {
      label: 'The provider can be reached, and its metadata can be used',
      checks:
        /^(secrets|tenant_domains|discovery_|provider_(timeout|unreachable|http|response_))/,
    },
    {
      label: 'The provider reports no error',
      checks: /^(provider_(?!keys)|response_)/,
    },
    {
      label: 'The provider exchanges the code for an ID token',
      checks: /^(token_|id_token_missing)/,
    },
    {
      label: 'The ID token is for this sign-in, and its signature is valid',
      checks: /^(id_token_|provider_keys)/,
    },
  ],
  content: {
    label: 'The claims of the ID token are accepted',
    checks: /^id_token_(azp|iat|tid|sub)$/,
  },

  describe(connection, response, entries) {
    const token = parseJson(findBody(entries, 'token'))
    const idToken = typeof token?.id_token === 'string' ? token.id_token : ''
    const [header, claims] = idToken.split('.').slice(0, 2).map(decodePart)
    const userInfo = parseUserInfo(findBody(entries, 'userInfo'))

    const received = [
      { from: 'response', values: pick(response, shownParameters) },
      { from: 'token endpoint', values: pickMembers(token, shownErrors) },
      { from: 'header of the ID token', values: pickMembers(header, ['alg', 'kid']) },
      { from: 'ID token', values: Object.entries(claims ?? {}) },
      { from: 'user info', values: Object.entries(userInfo ?? {}) },
    ]

    return {
      received: received.filter(({ values }) => values.length > 0),
      expected: compare(connection, claims),
      secrets: findSecrets(response, token),
      issuedAt: readIssuedAt(claims),
    }
  },
}

function findBody(entries: TraceEntry[], from: 'token' | 'userInfo'): string {
  const found = entries.findLast((entry) => 'from' in entry && entry.from === from)
  return found && 'body' in found ? found.body : ''
}

function parseJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns a part of a JWT, without verifying the JWT. */
function decodePart(part: string): Json | undefined {
  return parseJson(Buffer.from(part, 'base64url').toString())
}

/** User info is JSON or a JWT. */
function parseUserInfo(body: string): Json | undefined {
  return parseJson(body) ?? decodePart(body.split('.')[1] ?? '')
}

function pick(parameters: URLSearchParams, names: string[]): Received['values'] {
  return names.flatMap((name) =>
    parameters.getAll(name).map((value): [string, unknown] => [name, value]),
  )
}

function pickMembers(json: Json | undefined, names: string[]): Received['values'] {
  return Object.entries(json ?? {}).filter(([name]) => names.includes(name))
}

/** Whatever the token endpoint sends may be a secret, but for its errors. */
function findSecrets(response: URLSearchParams, token: Json | undefined): string[] {
  const ofToken = Object.entries(token ?? {}).filter(
    ([name]) => name.endsWith('_token') || name.includes('secret'),
  )
  const values = ofToken.map(([, value]) => value)
  const codes = ['code', 'state', 'session_state'].flatMap((name) =>
    response.getAll(name),
  )

  return [...values, ...codes].filter((value) => typeof value === 'string')
}

function compare({ settings }: OidcConnection, claims: Json | undefined): Expected[] {
  const { issuer, clientId } = settings
  const texts = (value: unknown) =>
    value === undefined ? [] : [value].flat().map((each) => String(each))

  return [
    { name: 'issuer (iss)', ours: issuer, received: texts(claims?.iss) },
    { name: 'audience (aud)', ours: clientId, received: texts(claims?.aud) },
  ]
}

/** Entra ID sets `iat` back by five minutes. */
function readIssuedAt(claims: Json | undefined): number | null {
  const seconds = claims?.iat
  if (typeof seconds !== 'number' || isEntra(String(claims?.iss))) return null
  return seconds * 1000
}
