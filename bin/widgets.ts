// `npm run widgets`: manages the widgets that customers embed into their pages
// (docs/widgets.md).
import { UsageError } from '../lib/usage-error'
import type { ListedWidget } from '../lib/widget/manage'
import { runCommand } from './command-line'
import { prepareCommand, withDatabaseAsOwner } from './dev/local'

prepareCommand()
const { slugPattern } = await import('../lib/sso/connection')
const widgets = await import('../lib/widget/manage')

const usage = `npm run widgets -- COMMAND
  add SLUG                    adds a widget, and prints its token only once. --name: its label, by default the slug
                              --origin URL: pages of this origin may use it. Repeat it for several
  list                        lists all widgets. --json: one object per line
  show SLUG                   shows a widget, its origins, and the last four characters of its tokens
  add-origin SLUG ORIGIN      lets pages of this origin use the widget
  remove-origin SLUG ORIGIN   rejects pages of this origin
  rotate SLUG                 prints a new token. The old one stops working. --keep 30m, 12h or 7d delays that
  revoke SLUG HINT            revokes the token that ends with these four characters
  disable SLUG                rejects all pages. Earlier JWTs are valid for up to 15 minutes
  enable SLUG                 lets pages use a disabled widget again
  remove SLUG                 deletes a widget with its origins and tokens
  check SLUG ORIGIN           shows whether a page of this origin gets a JWT, and why
A slug names the widget in its JWTs and in the log: lower-case letters, digits and hyphens.
Uses DIRECT_DATABASE_URL, else DATABASE_URL.`

const jwts = 'JWTs live for up to 15 minutes.'
const secondsOf = { m: 60, h: 3_600, d: 86_400 }

async function existing(slug: string): Promise<ListedWidget> {
  const [widget] = await widgets.listWidgets(slug)
  if (!widget)
    throw new UsageError(
      `There is no widget ${slug}. List them with npm run widgets -- list`,
    )
  return widget
}

async function add(
  slug: string,
  { origin: origins = [], name }: { origin?: string[]; name?: string },
): Promise<void> {
  if (!slugPattern.test(slug))
    throw new UsageError(
      `“${slug}” is not a slug: use at most 63 lower-case letters, digits and hyphens.`,
    )

  const token = await widgets.addWidget(slug, name ?? slug, origins)
  const pages =
    origins.length > 0
      ? `Pages of ${origins.join(', ')} may use it.`
      : 'No page may use it: approve an origin.'

  console.error(`Added ${slug}. This is its token, which is not shown again. ${pages}`)
  console.log(token)
}

async function list({ json }: { json?: boolean }): Promise<void> {
  for (const widget of await widgets.listWidgets()) {
    const text = [
      widget.slug,
      ...stateOf(widget),
      widget.origins.join(', ') || 'no origin',
    ].join('  ')
    console.log(json ? JSON.stringify(widget) : text)
  }
}

async function show(widget: ListedWidget): Promise<void> {
  console.log([widget.slug, widget.name, widget.id, ...stateOf(widget)].join('  '))
  console.log(`Origins: ${widget.origins.join(', ') || 'none, so no page may use it'}`)
  for (const { hint, createdAt, expiresAt, revokedAt } of widget.tokens) {
    const expires = expiresAt ? `, expires ${expiresAt.toISOString()}` : ''
    const end = revokedAt ? `, revoked ${revokedAt.toISOString()}` : expires
    console.log(`Token …${hint}: created ${createdAt.toISOString()}${end}`)
  }
}

function stateOf({ disabledAt }: ListedWidget): string[] {
  return disabledAt ? [`disabled since ${disabledAt.toISOString()}`] : []
}

async function rotate(
  widget: ListedWidget,
  { keep = '0m' }: { keep?: string },
): Promise<void> {
  const [, amount, unit] = /^(\d{1,4})([mhd])$/.exec(keep) ?? []
  if (!amount)
    throw new UsageError(`--keep “${keep}” is not a time, such as 30m, 12h or 7d.`)

  const seconds = Number(amount) * secondsOf[unit as keyof typeof secondsOf]
  const token = await widgets.rotateToken(widget, seconds)
  const old =
    seconds > 0 ? `works for ${keep}: replace it in the pages by then` : 'works no longer'
  console.error(
    `This is the new token of ${widget.slug}, which is not shown again. The old one ${old}.`,
  )
  console.log(token)
}

async function revoke(widget: ListedWidget, hint: string): Promise<void> {
  const count = await widgets.revokeTokens(widget, hint)
  if (count === 0)
    throw new UsageError(
      `${widget.slug} has no live token …${hint}. See npm run widgets -- show ${widget.slug}`,
    )

  console.log(
    `Revoked ${count === 1 ? 'the token' : `${count} tokens`} …${hint}. ${jwts}`,
  )
}

async function check(widget: ListedWidget, origin: string): Promise<void> {
  const { slug, disabledAt, origins } = widget
  if (disabledAt)
    return console.log(
      `400 WIDGET_TOKEN_INVALID: ${slug} is disabled. npm run widgets -- enable ${slug}`,
    )

  if ((await widgets.countLiveTokens(widget)) === 0)
    return console.log(
      `400 WIDGET_TOKEN_INVALID: ${slug} has no live token. npm run widgets -- rotate ${slug}`,
    )

  widgets.demandOrigin(origin)
  if (origins.includes(origin))
    return console.log(`200: pages of ${origin} may use ${slug}.`)

  console.log(
    `403 ORIGIN_REJECTED: ${origin} is not approved. npm run widgets -- add-origin ${slug} ${origin}`,
  )
}

async function addOrigin(widget: ListedWidget, origin: string): Promise<void> {
  await widgets.addOrigin(widget, origin)
  console.log(`Pages of ${origin} may use ${widget.slug}.`)
}

async function removeOrigin(widget: ListedWidget, origin: string): Promise<void> {
  if (!(await widgets.removeOrigin(widget, origin)))
    throw new UsageError(`${origin} was not approved.`)
  console.log(`Pages of ${origin} may no longer use ${widget.slug}. ${jwts}`)
}

const change =
  (work: (widget: ListedWidget) => Promise<void>, done: string) =>
  async (widget: ListedWidget) => {
    await work(widget)
    console.log(done.replace('SLUG', widget.slug))
  }
runCommand({
  usage,
  within: withDatabaseAsOwner,
  find: { WIDGET: existing },
  commands: {
    'add SLUG --origin=URL… --name=TEXT': add,
    'list --json': list,
    'show WIDGET': show,
    'add-origin WIDGET ORIGIN': addOrigin,
    'remove-origin WIDGET ORIGIN': removeOrigin,
    'rotate WIDGET --keep=TIME': rotate,
    'revoke WIDGET HINT': revoke,
    'disable WIDGET': change(
      (widget) => widgets.setDisabled(widget, true),
      `Disabled SLUG. ${jwts}`,
    ),
    'enable WIDGET': change(
      (widget) => widgets.setDisabled(widget, false),
      'Enabled SLUG.',
    ),
    'remove WIDGET': change(widgets.removeWidget, `Removed SLUG. ${jwts}`),
    'check WIDGET ORIGIN': check,
  },
})
