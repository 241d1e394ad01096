import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { project } from '../bin/dev/local'
import { files } from '../e2e/support/documents/documents'

// Which folders the files of a folder may import, besides their own. The longest name
// that matches a file decides. `lib` stands for every folder in lib. Types count too.
const base = [
  'lib/contract',
  'lib/settings',
  'lib/crypto',
  'lib/log',
  'lib/database',
  'lib/event',
]
const rules: Record<string, string[]> = {
  'lib/contract': [],
  'lib/log': [],
  'lib/settings': ['lib/contract'],
  'lib/crypto': ['lib/settings'],
  'lib/database': ['lib/contract', 'lib/settings', 'lib/log', 'prisma'],
  'lib/event': ['lib/contract', 'lib/settings', 'lib/log', 'lib/database'],
  'lib/texts': ['lib/contract', 'lib/settings'],
  'lib/brand': ['lib/contract', 'lib/settings', 'lib/texts'],
  'lib/session': base,
  'lib/code': [...base, 'lib/session'],
  'lib/mail': [...base, 'lib/texts', 'lib/brand', 'lib/password/reset-token'],
  'lib/password': [
    ...base,
    'lib/session',
    'lib/mail',
    'lib/second-factor',
    'lib/outgoing',
  ],
  'lib/second-factor': [...base, 'lib/session', 'lib/mail', 'lib/password'],
  'lib/passkey': [
    ...base,
    'lib/session',
    'lib/mail',
    'lib/password',
    'lib/second-factor',
  ],
  'lib/user': [...base, 'lib/session', 'lib/usage-error'],
  'lib/widget': [...base, 'lib/usage-error'],
  'lib/client': [...base, 'lib/session', 'lib/outgoing', 'lib/usage-error'],
  'lib/scim': [...base, 'lib/session', 'lib/user'],
  'lib/sso': [...base, 'lib/session', 'lib/code', 'lib/outgoing', 'lib/usage-error'],
  'lib/sso/oidc': ['lib/sso', ...base, 'lib/outgoing', 'lib/usage-error'],
  'lib/sso/saml': ['lib/sso', ...base, 'lib/outgoing', 'lib/usage-error'],
  'lib/http': ['lib'],
  'lib/metrics': ['lib'],
  lib: ['lib'],
  app: ['lib'],
  'app/preview': ['app', 'lib', 'bin/dev'],
  bin: ['lib', 'prisma'],
  prisma: ['lib/contract'],
  examples: [],
}

const modules = files.filter((path) => /\.(ts|tsx|js|mjs)$/.test(path))
const product = modules.filter(
  (path) => !/^(e2e|bench)\/|\.spec\.|^(vitest|next)\.config/.test(path),
)

test('each folder imports only the folders that its rule names', () => {
  const wrong = product.flatMap((path) => {
    const room = roomOf(path)
    const allowed = room ? [room, ...rules[room]!] : ['lib', 'app']
    return importsOf(path)
      .filter((imported) => !allowed.some((each) => isIn(imported, each)))
      .map((imported) => `${path} imports ${imported}`)
  })
  expect(wrong).toEqual([])
})

test('no files import each other in a circle', () => {
  const left = new Map(modules.map((path) => [path, importsOf(path)]))

  // Removes the files that import no remaining file, or that none imports. The rest are
  // circles, and the files between two circles.
  for (let size = -1; size !== left.size; ) {
    size = left.size
    const imported = new Set([...left.values()].flat())
    for (const [path, imports] of left)
      if (!imported.has(path) || !imports.some((each) => left.has(each)))
        left.delete(path)
  }

  expect([...left.keys()]).toEqual([])
})

/** Returns the longest name in `rules` that contains a file. */
function roomOf(path: string): string | undefined {
  const rooms = Object.keys(rules).filter((room) => isIn(path, room))
  return rooms.toSorted((one, other) => other.length - one.length)[0]
}

function isIn(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`) || path.startsWith(`${folder}.`)
}

/** Returns the files of this repository that a file imports, types included. */
function importsOf(path: string): string[] {
  const text = readFileSync(project + path, 'utf8')
  const specifiers = text.matchAll(
    /(?:\bfrom|\bimport|\bimport\()\s*['"]((?:\.{1,2}|@)\/[^'"?]+)/g,
  )
  return [...specifiers].flatMap(([, specifier]) => {
    const target = specifier!.startsWith('@/')
      ? specifier!.slice(2)
      : posix.join(posix.dirname(path), specifier!)
    const candidates = ['', '.ts', '.tsx', '.js', '.mjs'].map((end) => target + end)
    return candidates.find((each) => modules.includes(each)) ?? []
  })
}
