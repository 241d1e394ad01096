import { readdirSync, readFileSync } from 'node:fs'

/**
 * Returns the version of the app in `folder` and its last migration, by which
 * `CHANGELOG.md` tells apart what has the same version.
 */
export function describeVersion(folder: string): string {
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const migrations = readdirSync(`${folder}/prisma/migrations`)
  const last = migrations.filter((name) => /^\d{14}_/.test(name)).sort()
  return `version ${version}, last migration ${last.at(-1)}`
}
