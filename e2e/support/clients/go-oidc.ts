import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startOwnServer } from './own-server'
import type { ClientValues, RealClient } from './recipe'

/** Compiles and starts the recipe for Debian's go-oidc. */
export function startGoOidc(values: ClientValues): Promise<RealClient> {
  const { issuer, slug, port, redirectUri } = values

  return startOwnServer(
    {
      recipe: 'go-oidc',
      replaced: {
        'https://login.example.com': issuer,
        'https://app.example.com/callback': redirectUri,
        '"app"': `"${slug}"`,
        'Secure: true': 'Secure: false',
      },
      file: 'main.go',
      command: async (path) => [await compile(path)],
      settings: () => ({ PORT: String(port) }),
    },
    values,
  )
}

/** Returns the path of the program. */
async function compile(path: string): Promise<string> {
  const program = path.replace(/\.go$/, '')
  const environment = {
    PATH: process.env.PATH,
    GO111MODULE: 'off',
    GOPATH: '/usr/share/gocode',
    GOCACHE: `${path}-cache`, // the folder is removed with the program
    CGO_ENABLED: '0',
  }
  await promisify(execFile)('/usr/bin/go', ['build', '-o', program, path], {
    env: environment as unknown as NodeJS.ProcessEnv,
  })
  return program
}
