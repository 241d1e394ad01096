import { newIssuedSecret } from '../crypto/token'
import {
  countLiveSecrets,
  expireSecrets,
  revokeSecrets,
} from '../database/issued-secrets'
import { Prisma, prisma, transaction } from '../database/prisma'
import { withEvents, writeEvent } from '../event/record'
import { isLoopback } from '../settings/loopback'
import { UsageError } from '../usage-error'

const maxOrigins = 50

/**
 * Throws UsageError unless a text is an origin as browsers send it (RFC 6454), with
 * https, or http on this machine.
 */
export function demandOrigin(text: string): void {
  const example = 'an origin, like https://www.example.com'
  if (!URL.canParse(text) || !/^https?:/i.test(text))
    throw new UsageError(`“${text}” is not ${example}.`)

  const { origin, protocol, hostname } = new URL(text)
  if (hostname.includes('*'))
    throw new UsageError(`“${text}” has a wildcard: add each origin separately.`)
  if (origin !== text)
    throw new UsageError(`“${text}” is not exactly what browsers send: use ${origin}`)
  if (protocol === 'http:' && !isLoopback(hostname))
    throw new UsageError(
      `“${text}” must begin with https://. Only localhost may use http://.`,
    )
}

/**
 * Creates a token of a widget, `wgt_` and 43 characters. Only its hash and its last four
 * characters are stored.
 */
export async function createWidgetToken(
  widgetId: string,
  tx: Prisma.TransactionClient,
): Promise<string> {
  const { secret, hash, hint } = newIssuedSecret('wgt_')
  await tx.widgetToken.create({ data: { widgetId, tokenHash: hash, hint } })
  return secret
}

/**
 * Adds a widget, and returns its token. Throws UsageError if the slug is taken or an
 * origin is invalid.
 */
export async function addWidget(
  slug: string,
  name: string,
  origins: string[],
): Promise<string> {
  for (const origin of origins) demandOrigin(origin)
  if (origins.length > maxOrigins)
    throw new UsageError(`A widget can have at most ${maxOrigins} origins.`)

  return transaction(async (tx) => {
    const [widget] = await tx.widget.createManyAndReturn({
      data: [{ slug, name }],
      skipDuplicates: true,
    })

    if (!widget) throw new UsageError(`There is already a widget ${slug}.`)

    await tx.widgetOrigin.createMany({
      data: [...new Set(origins)].map((origin) => ({ widgetId: widget.id, origin })),
    })
    await writeEvent(tx, 'widget_added', { widgetId: widget.id, slug })

    return createWidgetToken(widget.id, tx)
  })
}

export type ListedWidget = Awaited<ReturnType<typeof listWidgets>>[number]

/** Returns all widgets in the order of their slugs, or only the widget with `slug`. */
export async function listWidgets(slug?: string) {
  const widgets = await prisma().widget.findMany({
    where: slug === undefined ? {} : { slug },
    orderBy: { slug: 'asc' },
    omit: { createdAt: true },
    include: {
      origins: { orderBy: { origin: 'asc' }, select: { origin: true } },
      tokens: {
        orderBy: { createdAt: 'asc' },
        select: { hint: true, createdAt: true, expiresAt: true, revokedAt: true },
      },
    },
  })

  return widgets.map(({ origins, ...widget }) => ({
    ...widget,
    origins: origins.map(({ origin }) => origin),
  }))
}

/**
 * Approves an origin. Throws UsageError if `demandOrigin` rejects it, or if the widget
 * has 50 origins.
 */
export async function addOrigin(
  { id, origins }: ListedWidget,
  origin: string,
): Promise<void> {
  demandOrigin(origin)
  if (origins.length >= maxOrigins && !origins.includes(origin))
    throw new UsageError(`A widget can have at most ${maxOrigins} origins.`)

  await transaction(async (tx) => {
    const { count } = await tx.widgetOrigin.createMany({
      data: [{ widgetId: id, origin }],
      skipDuplicates: true,
    })
    if (count > 0) await writeEvent(tx, 'widget_changed', originsOf(id))
  })
}

/** Removes an approved origin. Returns whether it was approved. */
export async function removeOrigin(
  { id }: ListedWidget,
  origin: string,
): Promise<boolean> {
  return transaction(async (tx) => {
    const { count } = await tx.widgetOrigin.deleteMany({
      where: { widgetId: id, origin },
    })
    if (count > 0) await writeEvent(tx, 'widget_changed', originsOf(id))

    return count === 1
  })
}

/** What the event of a change of the origins says. */
const originsOf = (widgetId: string) => ({ widgetId, changed: ['origins'] })

/**
 * Creates a token of a widget, and returns it. The current tokens expire after
 * `keepSeconds` or earlier.
 */
export function rotateToken({ id }: ListedWidget, keepSeconds: number): Promise<string> {
  return transaction(async (tx) => {
    await expireSecrets(tx, 'widget_tokens', id, keepSeconds)
    await writeEvent(tx, 'widget_token_issued', { widgetId: id })
    return createWidgetToken(id, tx)
  })
}

/** Revokes the live tokens that end with `hint`. Returns their number. */
export function revokeTokens({ id }: ListedWidget, hint: string): Promise<number> {
  return revokeSecrets('widget_tokens', id, hint, (change) =>
    withEvents(change, 'widget_token_revoked', { widgetId: id }),
  )
}

/** Returns the number of valid tokens of a widget, by the database's clock. */
export function countLiveTokens({ id }: ListedWidget): Promise<number> {
  return countLiveSecrets('widget_tokens', id)
}

/** Disables a widget, so that it gets no more JWTs, or enables it again. */
export async function setDisabled(
  { id }: ListedWidget,
  isDisabled: boolean,
): Promise<void> {
  const since = isDisabled ? Prisma.sql`coalesce(disabled_at, now())` : Prisma.sql`NULL`
  const change = Prisma.sql`UPDATE widgets SET disabled_at = ${since} WHERE id = ${id}`
  const kind = isDisabled ? 'widget_disabled' : 'widget_enabled'
  await prisma().$executeRaw(withEvents(change, kind, { widgetId: id }))
}

/** Deletes a widget with its origins and tokens. */
export async function removeWidget({ id, slug }: ListedWidget): Promise<void> {
  await transaction(async (tx) => {
    await tx.widget.delete({ where: { id } })
    await writeEvent(tx, 'widget_removed', { widgetId: id, slug })
  })
}
