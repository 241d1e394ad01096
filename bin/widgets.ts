// `npm run widgets`: manages the widgets that customers embed into their pages
// (docs/widgets.md).
import { lifetimes } from '../lib/contract/lifetimes'
import { formatDuration } from '../lib/texts/durations'
import { UsageError } from '../lib/usage-error'
import type { ListedWidget } from '../lib/widget/manage'
import {
  collect,
  confirm,
  newProgram,
  printIssuedSecret,
  readSeconds,
  recordOperator,
  runCommand,
  yesOption,
} from './command-line'
import { prepareCommand, withDatabaseAsOwner } from './dev/local'

prepareCommand()
const { slugPattern } = await import('../lib/sso/connection')
const widgets = await import('../lib/widget/manage')

const lifetime = formatDuration(lifetimes.widgetToken, 'en')
const jwts = `JWTs live for up to ${lifetime}.`

async function requireWidget(slug: string): Promise<ListedWidget> {
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
      ...describeState(widget),
      widget.origins.join(', ') || 'no origin',
    ].join('  ')
    console.log(json ? JSON.stringify(widget) : text)
  }
}

async function show(slug: string): Promise<void> {
  const widget = await requireWidget(slug)
  console.log([widget.slug, widget.name, widget.id, ...describeState(widget)].join('  '))
  console.log(`Origins: ${widget.origins.join(', ') || 'none, so no page may use it'}`)
  for (const token of widget.tokens) printIssuedSecret('Token', token)
}

function describeState({ disabledAt }: ListedWidget): string[] {
  return disabledAt ? [`disabled since ${disabledAt.toISOString()}`] : []
}

async function rotate(slug: string, { keep = '0m' }: { keep?: string }): Promise<void> {
  const widget = await requireWidget(slug)
  const seconds = readSeconds('--keep', keep)
  const token = await widgets.rotateToken(widget, seconds)
  const old =
    seconds > 0 ? `works for ${keep}: replace it in the pages by then` : 'works no longer'
  console.error(
    `This is the new token of ${widget.slug}, which is not shown again. The old one ${old}.`,
  )
  console.log(token)
}

async function revoke(slug: string, hint: string): Promise<void> {
  const widget = await requireWidget(slug)
  const count = await widgets.revokeTokens(widget, hint)
  if (count === 0)
    throw new UsageError(
      `${widget.slug} has no live token …${hint}. See npm run widgets -- show ${widget.slug}`,
    )

  console.log(
    `Revoked ${count === 1 ? 'the token' : `${count} tokens`} …${hint}. ${jwts}`,
  )
}

async function check(slug: string, origin: string): Promise<void> {
  const widget = await requireWidget(slug)
  const { disabledAt, origins } = widget
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

async function addOrigin(slug: string, origin: string): Promise<void> {
  const widget = await requireWidget(slug)
  await widgets.addOrigin(widget, origin)
  console.log(`Pages of ${origin} may use ${widget.slug}.`)
}

async function removeOrigin(slug: string, origin: string): Promise<void> {
  const widget = await requireWidget(slug)
  if (!(await widgets.removeOrigin(widget, origin)))
    throw new UsageError(`${origin} was not approved.`)
  console.log(`Pages of ${origin} may no longer use ${widget.slug}. ${jwts}`)
}

async function disable(slug: string): Promise<void> {
  await widgets.setDisabled(await requireWidget(slug), true)
  console.log(`Disabled ${slug}. ${jwts}`)
}

async function enable(slug: string): Promise<void> {
  await widgets.setDisabled(await requireWidget(slug), false)
  console.log(`Enabled ${slug}.`)
}

async function remove(slug: string, given: { yes?: true }): Promise<void> {
  const widget = await requireWidget(slug)
  const tokens = await widgets.countLiveTokens(widget)
  const pages = widget.origins.join(', ') || 'none'
  await confirm(
    `This removes ${slug}. Origins whose pages use it: ${pages}. Live tokens: ${tokens}. It can’t be undone.`,
    given,
  )

  await widgets.removeWidget(widget)
  console.log(`Removed ${slug}. ${jwts}`)
}

const program = newProgram(
  'npm run widgets --',
  'Manages the widgets that customers embed into their pages. A slug names the widget in its JWTs and in the log: lower-case letters, digits and hyphens. Uses DIRECT_DATABASE_URL, else DATABASE_URL.',
)
recordOperator(program)

program
  .command('add <slug>')
  .description('adds a widget, and prints its token only once')
  .option('--name <text>', 'its label, by default the slug')
  .option(
    '--origin <url>',
    'pages of this origin may use it; repeat it for several',
    collect,
  )
  .action(withDatabaseAsOwner(add))

program
  .command('list')
  .description('lists all widgets')
  .option('--json', 'one object per line')
  .action(withDatabaseAsOwner(list))

program
  .command('show <slug>')
  .description('shows a widget, its origins, and the last four characters of its tokens')
  .action(withDatabaseAsOwner(show))

program
  .command('add-origin <slug> <origin>')
  .description('lets pages of this origin use the widget')
  .action(withDatabaseAsOwner(addOrigin))

program
  .command('remove-origin <slug> <origin>')
  .description('rejects pages of this origin')
  .action(withDatabaseAsOwner(removeOrigin))

program
  .command('rotate <slug>')
  .description('prints a new token. The old one stops working')
  .option('--keep <time>', 'the old one works for 30m, 12h or 7d, for example')
  .action(withDatabaseAsOwner(rotate))

program
  .command('revoke <slug> <hint>')
  .description('revokes the token that ends with these four characters')
  .action(withDatabaseAsOwner(revoke))

program
  .command('disable <slug>')
  .description(`rejects all pages. Earlier JWTs are valid for up to ${lifetime}`)
  .action(withDatabaseAsOwner(disable))

program
  .command('enable <slug>')
  .description('lets pages use a disabled widget again')
  .action(withDatabaseAsOwner(enable))

program
  .command('remove <slug>')
  .description('deletes a widget with its origins and tokens')
  .option(...yesOption)
  .action(withDatabaseAsOwner(remove))

program
  .command('check <slug> <origin>')
  .description('shows whether a page of this origin gets a JWT, and why')
  .action(withDatabaseAsOwner(check))

runCommand(program)
