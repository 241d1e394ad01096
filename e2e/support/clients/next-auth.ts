import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { responds, startProgram } from '../servers/program'
import { clientsFolder, installClients } from './install'
import { type ClientValues, cutOut, postForm, type RealClient } from './recipe'

/**
 * Starts the handlers in the recipe for next-auth. A small server calls them as Next.js
 * does.
 */
export async function startNextAuth({
  issuer,
  slug,
  secret,
  port,
  redirectUri,
}: ClientValues): Promise<RealClient> {
  installClients()
  const recipe = cutOut('next-auth', {
    'https://login.example.com': issuer,
    "'app'": `'${slug}'`,
    // without a bundler
    "import NextAuth, { getServerSession } from 'next-auth'":
      "import nextAuth from 'next-auth'\nconst { default: NextAuth, getServerSession } = nextAuth",
  })
  const files = [`${clientsFolder}${slug}-auth.js`, `${clientsFolder}${slug}.js`] as const
  writeFileSync(files[0], recipe)
  writeFileSync(files[1], server.replace('AUTH', `./${slug}-auth.js`))

  const { origin } = new URL(redirectUri)
  const program = await startProgram(
    [process.execPath, files[1]],
    () => responds(`${origin}/api/auth/providers`),
    {
      CLIENT_SECRET: secret,
      NEXTAUTH_SECRET: randomBytes(32).toString('base64'),
      NEXTAUTH_URL: origin,
      PORT: String(port),
    },
  )

  return {
    url: `${origin}/`,
    redirectUri,
    begin: async (browser) => {
      const { csrfToken } = await (await browser.get(`${origin}/api/auth/csrf`)).json()
      const options = { form: { csrfToken, callbackUrl: origin }, maxRedirects: 0 }
      const response = await browser.post(`${origin}/api/auth/signin/login`, options)
      return response.headers().location!
    },
    open: async (page) => {
      await page.goto(origin)
      await page.getByRole('button', { name: 'Sign in with Login' }).click()
    },
    signOut: (page) => postForm(page, '/api/sign-out'),
    stop: async () => {
      await program.stop()
      for (const file of files) rmSync(file)
    },
  }
}

/** What Next.js does for handlers below `pages/api`, and a page that shows the user. */
const server = `
import express from 'express'
import { handleAuth, findUser, signOut } from 'AUTH'

const app = express()
app.use(express.urlencoded({ extended: false }))
app.use((request, _, next) => {
  const pairs = (request.headers.cookie ?? '').split('; ').map((pair) => pair.split(/=(.*)/s))
  request.cookies = Object.fromEntries(pairs.map(([name, value]) => [name, decodeURIComponent(value ?? '')]))
  const query = { ...request.query, nextauth: request.path.split('/').slice(3) }
  Object.defineProperty(request, 'query', { value: query })
  next()
})
app.post('/api/sign-out', signOut)
app.all('/api/auth/*path', handleAuth)
app.get('/', async (request, response) => {
  const user = await findUser(request, response)
  return user ? response.json(user) : response.redirect('/api/auth/signin')
})
app.listen(process.env.PORT)
`
