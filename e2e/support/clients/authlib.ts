import { randomBytes } from 'node:crypto'
import { startOwnServer } from './own-server'
import type { ClientValues, RealClient } from './recipe'

/** Starts the recipe for Debian's Authlib and Flask. */
export function startAuthlib(values: ClientValues): Promise<RealClient> {
  const { issuer, slug, port, redirectUri } = values

  return startOwnServer(
    {
      recipe: 'authlib',
      replaced: {
        'https://login.example.com': issuer,
        'https://app.example.com/callback': redirectUri,
        "'client_id': 'app'": `'client_id': '${slug}'`,
        "'SESSION_COOKIE_SECURE': True": "'SESSION_COOKIE_SECURE': False",
      },
      file: 'app.py',
      command: () => ['/usr/bin/python3', '-m', 'flask', 'run', '--port', String(port)],
      settings: (path) => ({
        FLASK_APP: path,
        SESSION_SECRET: randomBytes(32).toString('hex'),
      }),
    },
    values,
  )
}
