import type { JSONWebKeySet } from 'jose'
import * as routes from '../../lib/contract/routes'
import { documentedFetch } from '../support/documents/documented'
import { expect, test } from '../support/fixtures'
import { startServer } from '../support/servers/server'

const readKeys = async (response: Response): Promise<JSONWebKeySet['keys']> =>
  (await response.json()).keys

test('ID tokens have their own JWKS, with the public members of RSA keys only', async ({
  url,
}) => {
  const response = await documentedFetch(url + routes.getIdTokenKeys.path)
  const names = ['content-type', 'cache-control', 'access-control-allow-origin']
  expect(names.map((name) => response.headers.get(name))).toEqual([
    'application/jwk-set+json',
    'public, max-age=300',
    '*',
  ])

  const keys = await readKeys(response)
  expect(keys.map((key) => [key.kty, key.alg, key.use])).toEqual([
    ['RSA', 'RS256', 'sig'],
  ])
  expect(Object.keys(keys[0]!).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])

  const sessions = await readKeys(await fetch(url + routes.getSigningKeys.path))
  expect(sessions.map(({ kty }) => kty)).toEqual(['EC'])
})

test('without ID_TOKEN_SIGNING_KEYS, the JWKS of ID tokens is 404', async () => {
  const off = await startServer({ ID_TOKEN_SIGNING_KEYS: '' })
  const response = await fetch(off.url + routes.getIdTokenKeys.path)
  expect([response.status, (await response.json()).code]).toEqual([404, 'NOT_FOUND'])
  await off.stop()
})
