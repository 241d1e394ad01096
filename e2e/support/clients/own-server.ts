import { writeFileSync } from 'node:fs'
import { startProgram, temporaryFolder } from '../servers/program'
import { type ClientValues, cutOut, type RealClient } from './recipe'

type OwnServer = {
  /** The name of the recipe, which is the whole program. */
  recipe: string
  /** What the recipe has instead of values that only tests need. */
  replaced: Record<string, string>
  file: string
  /** Returns the command that starts the program, given the path of the file. */
  command: (path: string) => string[] | Promise<string[]>
  settings?: (path: string) => Record<string, string>
  begin?: RealClient['begin']
  open?: RealClient['open']
}

/**
 * Starts a recipe that is a whole server, with the button “Sign out” at `/`, and the link
 * “Try again” after an error. Unless told otherwise, `/` redirects to the login.
 */
export async function startOwnServer(
  { recipe, replaced, file, command, settings, begin, open }: OwnServer,
  { secret, redirectUri }: ClientValues,
): Promise<RealClient> {
  const folder = temporaryFolder(recipe)
  const path = `${folder.path}/${file}`
  const program = cutOut(recipe, replaced)
  writeFileSync(path, program)

  const url = new URL('/', redirectUri).href
  const listens = () =>
    fetch(url, { redirect: 'manual' }).then(
      () => true,
      () => false,
    )
  const { stop } = await startProgram(await command(path), listens, {
    CLIENT_SECRET: secret,
    ...settings?.(path),
  })

  return {
    url,
    redirectUri,
    begin:
      begin ??
      (async (browser) =>
        (await browser.get(url, { maxRedirects: 0 })).headers().location!),
    open:
      open ??
      (async (page) => {
        await page.goto(url)
      }),
    signOut: (page) => page.getByRole('button', { name: 'Sign out' }).click(),
    errorLink: 'Try again',
    stop: async () => {
      await stop()
      folder.remove()
    },
  }
}
