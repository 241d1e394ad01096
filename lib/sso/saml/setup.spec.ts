import { expect, test } from 'vitest'
import { newSamlProvider } from '../../../e2e/support/providers/saml-provider'
import type { Flags } from '../provider'
import { samlSetup as saml } from './setup'

test('an update changes the format of the NameID, and an empty text removes it', async () => {
  const { settings } = await newSamlProvider()
  const { entityId: _, acsUrl: __, privateKey: ___, ...stored } = settings
  const update = async (flags: Flags, before = stored) =>
    (
      await saml.add.settingsFrom(
        { slug: 'acme', domains: [], stored: before },
        flags,
        async () => Buffer.alloc(0),
      )
    ).settings as typeof stored

  const named = await update({ 'name-id-format': 'emailAddress' })
  expect(named.nameIdFormat).toBe('emailAddress')
  expect(saml.describe({ slug: 'acme', settings: named } as never).entries.NameID).toBe(
    'emailAddress',
  )
  expect((await update({ name: 'Acme' }, named)).nameIdFormat).toBe('emailAddress')
  expect((await update({ 'name-id-format': '' }, named)).nameIdFormat).toBeUndefined()
  await expect(update({ 'name-id-format': 'transient' })).rejects.toThrow(
    '--name-id-format must be persistent or emailAddress.',
  )
})
