import { enableConnection, listConnections } from '../../lib/sso/manage/connections'
import { applyConnection } from '../../lib/sso/setup/apply'
import { revokeLink } from '../../lib/sso/setup/invite'
import { findLinkBySecret, recordLinkTest } from '../../lib/sso/setup/link'
import { saveValues } from '../../lib/sso/setup/save'
import { findTarget, type Target } from '../../lib/sso/setup/target'
import { newSetupLink } from '../support/browsers/setup-visitor'
import { rounds } from '../support/databases/race'
import { expect, test } from '../support/fixtures'
import { providerMetadata } from '../support/providers/saml-metadata'
import { newSamlProvider } from '../support/providers/saml-provider'

// A setup link, at the same time as another request of it or a command.

const ended = /LinkEnded|SetupProblem|Another command has changed/

let certificate: string
test.beforeAll(async () => {
  certificate = (await newSamlProvider()).settings.certificates[0]!
})

const read = async (target: Target) => (await findTarget(target.link.id))!
const save = (target: Target, issuer: string) =>
  saveValues(target, {
    protocol: 'saml',
    metadata: Buffer.from(providerMetadata(certificate, issuer)),
  })

/** Makes a link that may apply, and saves values with it. */
async function begin(): Promise<Target> {
  const { secret } = await newSetupLink({ mayActivate: true })
  const { id } = (await findLinkBySecret(secret))!
  await save((await findTarget(id))!, 'urn:first')

  return (await findTarget(id))!
}

/** Resolves to whether an operation succeeded. Rejects unless its error is expected. */
async function succeeds(operation: Promise<unknown>): Promise<boolean> {
  try {
    await operation
    return true
  } catch (error) {
    const { name, message } = error as Error
    if (ended.test(`${name} ${message}`)) return false
    throw error
  }
}

test('an operator enables only values that the command has read', async () => {
  for (let round = 0; round < rounds; round++) {
    const target = await begin()
    const [connection] = await listConnections(target.slug)
    const [isEnabled, isSaved] = await Promise.all([
      succeeds(enableConnection(connection!)),
      succeeds(save(target, 'urn:second')),
    ])
    expect([isEnabled, isSaved].filter(Boolean)).toHaveLength(1)

    const { disabledAt, settings } = (await read(target)).connection!
    expect([disabledAt === null, settings.issuer]).toEqual(
      isEnabled ? [true, 'urn:first'] : [false, 'urn:second'],
    )
  }
})

test('a link activates only the values that were tested', async () => {
  for (let round = 0; round < rounds; round++) {
    const target = await begin()
    await recordLinkTest(target.link.id, target.connection!, 'ada@example.com')
    const tested = await read(target)
    const [isApplied, isSaved] = await Promise.all([
      succeeds(applyConnection(tested)),
      succeeds(save(tested, 'urn:second')),
    ])
    expect([isApplied, isSaved].filter(Boolean)).toHaveLength(1)

    const { disabledAt, settings } = (await read(target)).connection!
    expect([disabledAt === null, settings.issuer]).toEqual(
      isApplied ? [true, 'urn:first'] : [false, 'urn:second'],
    )
  }
})

test('a test that ends while other values are saved does not count for these', async () => {
  for (let round = 0; round < rounds; round++) {
    const target = await begin()
    await Promise.all([
      recordLinkTest(target.link.id, target.connection!, 'ada@example.com'),
      save(target, 'urn:second'),
    ])
    expect((await read(target)).link.isTried).toBe(false)
  }
})

test('a revoked link changes nothing, and a link is used up once', async () => {
  for (let round = 0; round < rounds; round++) {
    const target = await begin()
    await recordLinkTest(target.link.id, target.connection!, 'ada@example.com')
    const tested = await read(target)
    const applied = await Promise.all([
      ...[1, 2].map(() => succeeds(applyConnection(tested))),
      revokeLink(target.connection!).then(() => false),
    ])
    const { connection, link } = await read(target)
    expect(applied.filter(Boolean)).toHaveLength(connection!.disabledAt ? 0 : 1)
    expect(link.isLive).toBe(false)
  }
})
