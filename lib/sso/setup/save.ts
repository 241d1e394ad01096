// Saves the values of an identity provider that the holder of a setup link has entered.
import { type Prisma, type Transaction, transaction } from '../../database/prisma'
import { writeEvent } from '../../event/record'
import { errorCode } from '../../log/error-code'
import { log } from '../../log/log'
import { UsageError } from '../../usage-error'
import { type ConnectionSettings, draftKind } from '../connection'
import { uniqueViolation } from '../manage/activate'
import { changeRow, listChangedSettings } from '../manage/connections'
import { createBinding, encryptSecrets } from '../secrets'
import type { Draft } from './draft'
import { endLink, lockLink, recordChange } from './link'
import { changedMeanwhile, SetupProblem } from './problem'
import { findStage, type Target } from './target'
import type { EnteredValues, NewValues } from './values'

/** What has happened, for the log. */
export type Saved = { outcome: 'saved' | 'renewed'; notes: string[] }

/**
 * Checks the values, and saves them. A connection that is not enabled stays disabled, so
 * that only tests work. A renewal of an enabled one ends the link. Throws SetupProblem, or
 * LinkEnded.
 */
export async function saveValues(target: Target, entered: EnteredValues): Promise<Saved> {
  const stage = findStage(target)
  if (stage === 'nothing')
    throw new SetupProblem('This connection is in use. This link can’t change it.')

  const saved = target.connection?.settings.kind
  if (saved !== undefined && saved !== entered.protocol)
    throw new SetupProblem(
      'Values for the other protocol were saved before. To change the protocol, ask your contact for a new start.',
    )

  const isRenewal = stage === 'renew'
  const values = await readValues(target, entered, isRenewal)
  const { id } = target.connection ?? target.draft
  const encryptedSecrets = await encryptValues(target, id, values)

  const changed = listChanged(target, entered, values)
  if (target.connection && !isRenewal && changed.length === 0)
    return { outcome: 'saved', notes: values.notes } // the last test is still true

  const kind = isRenewal ? 'setup_link_renewed' : 'setup_link_saved'

  await asProblem(() =>
    transaction(async (tx) => {
      const link = await lockLink(tx, target.link.id)
      await writeValues(tx, target, values.settings, encryptedSecrets)
      await demandState(tx, id, isRenewal)
      await recordChange(tx, link.id)
      await writeEvent(tx, kind, { connectionId: id, changed })
      if (isRenewal) await endLink(tx, link)
    }),
  )

  if (isRenewal)
    log.warn(
      { connection: target.slug, setup: 'renewed', link: target.link.id },
      'a setup link has changed how an enabled connection verifies its users',
    )

  return { outcome: isRenewal ? 'renewed' : 'saved', notes: values.notes }
}

async function readValues(
  target: Target,
  entered: EnteredValues,
  isRenewal: boolean,
): Promise<NewValues> {
  // loaded here, because each needs a large library
  if (entered.protocol === 'oidc') {
    const { readOidcValues } = await import('./oidc-values')
    return readOidcValues(target, entered, isRenewal)
  }

  const { readSamlValues } = await import('./saml-values')
  return readSamlValues(target, entered.metadata)
}

/** Returns the names of the settings that the holder changes. */
function listChanged(
  { connection }: Target,
  entered: EnteredValues,
  { settings }: NewValues,
): string[] {
  const changed = listChangedSettings(connection?.settings ?? {}, settings)
  const hasSecret = entered.protocol === 'oidc' && Boolean(entered.clientSecret?.trim())

  return hasSecret ? [...changed, 'secrets'] : changed
}

async function encryptValues(
  { connection }: Target,
  id: string,
  { settings, secrets }: NewValues,
): Promise<string | null> {
  if (secrets === null) return connection!.encryptedSecrets
  return encryptSecrets(secrets, createBinding({ id, settings }))
}

async function writeValues(
  tx: Transaction,
  { connection, draft }: Target,
  { kind, ...settings }: ConnectionSettings,
  encryptedSecrets: string | null,
): Promise<void> {
  const data = { kind, settings, encryptedSecrets, triedAt: null }
  if (connection) return changeRow(tx, connection, data)

  await fillDraft(tx, draft, data)
}

async function fillDraft(
  tx: Transaction,
  { id, encryptedSecrets }: Draft,
  data: Prisma.ConnectionUpdateManyMutationInput,
): Promise<void> {
  const where = { id, kind: draftKind, encryptedSecrets }
  const { count } = await tx.connection.updateMany({ where, data })
  if (count === 0) throw new SetupProblem(changedMeanwhile)
}

/** Throws unless the locked row is still enabled or disabled, as when it was read. */
async function demandState(
  tx: Transaction,
  id: string,
  isEnabled: boolean,
): Promise<void> {
  const row = await tx.connection.findUnique({
    where: { id },
    select: { disabledAt: true },
  })
  if ((row?.disabledAt === null) !== isEnabled) throw new SetupProblem(changedMeanwhile)
}

/** Gives the errors of commands a text for somebody who does not know our commands. */
export async function asProblem<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const isTaken = errorCode(error as Error) === uniqueViolation
    if (isTaken || error instanceof UsageError) throw new SetupProblem(changedMeanwhile)

    throw error
  }
}
