// A dashboard on another host than the login. It stores all tokens on the server.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import * as login from './login.js'

const {
  PORT = '4000',
  OWN_URL = `http://127.0.0.1:${PORT}`,
  CHECK_SECONDS = '60',
} = process.env
const callbackUrl = `${OWN_URL}/callback`
const pages = { '/': 'Overview', '/reports': 'Reports' }
const styles = readFileSync(new URL('styles.css', import.meta.url), 'utf8')
const stylesHash = createHash('sha256').update(styles).digest('base64')
const again = 'again-' // the beginning of `state` in a second attempt
const isHttps = OWN_URL.startsWith('https:')
// The prefix needs https. On plain http, servers on different ports share cookies, so the
// name contains the port.
const cookieName = isHttps ? '__Host-dashboard' : `dashboard-${PORT}`

// The sessions of browsers, by the value of their cookie. `attempts` are sign-ins in
// progress, by `state`. A session with `tokens` is signed in. They are in memory, so
// several processes would need a shared store instead.
const sessions = new Map()

/** Stores a session under a new cookie. */
function store(response, session, seconds) {
  const id = login.newSecret()
  sessions.set(id, session)
  setTimeout(() => sessions.delete(id), seconds * 1000).unref()
  const attributes = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`
  response.setHeader('Set-Cookie', `${cookieName}=${id}; ${attributes}`)
}

async function startSignIn(call, returnTo = call.request.url, mark = '') {
  const { response, session } = call
  const { url, state, codeVerifier } = await login.beginSignIn(callbackUrl, mark)
  const attempts = session?.attempts ?? new Map()
  if (!session) store(response, { attempts }, 3600)
  attempts.set(state, { state, codeVerifier, returnTo })
  redirect(response, url)
}

/** Handles the callback, if this browser began the sign-in. */
async function finishSignIn(call) {
  const { request, response, id, session, query } = call
  const attempt = session?.attempts.get(query.get('state'))
  session?.attempts.delete(query.get('state'))
  if (!query.has('code')) return reject(response)

  const url = new URL(request.url, OWN_URL)
  const tokens = attempt && (await login.finishSignIn(url, attempt))
  if (!tokens) return recover(call)

  sessions.delete(id) // a new cookie, because an attacker may have set the old one
  store(
    response,
    { attempts: session.attempts, tokens, checkedAt: Date.now() },
    7 * 24 * 3600,
  )
  redirect(response, attempt.returnTo)
}

/**
 * Handles a callback of a sign-in that began elsewhere or is over, for example after a
 * bookmark or Back. Continues with a session of this browser, or begins again once.
 */
function recover(call) {
  const { response, session, query } = call
  if (session?.tokens) return redirect(response, '/')
  // the mark also ends the loop of a browser without cookies
  if (query.get('state')?.startsWith(again)) return reject(response)
  startSignIn(call, '/', again)
}

function reject(response) {
  send(response, 400, 'You weren’t signed in', '<a href="/">Sign in again</a>')
}

/**
 * Returns the claims of a signed-in session, or undefined if it has ended. Throws if the
 * login does not respond.
 */
async function currentClaims(session) {
  const { claims } = session.tokens
  const expiresSoon = claims.exp * 1000 < Date.now() + 60_000
  const wasChecked = Date.now() < session.checkedAt + Number(CHECK_SECONDS) * 1000
  if (!expiresSoon && wasChecked) return claims
  if (!expiresSoon && (await login.isAlive(session.tokens)))
    session.checkedAt = Date.now()
  else await renew(session)
  return session.tokens?.claims
}

/**
 * Renews the tokens. Concurrent requests share one renewal. If it throws, the session
 * still has the old tokens.
 */
async function renew(session) {
  if (!session.tokens) return
  session.renewal ??= login
    .renewTokens(session.tokens.refreshToken)
    .finally(() => delete session.renewal)
  session.tokens = await session.renewal
  session.checkedAt = Date.now()
}

async function showPage(call) {
  const claims = call.session?.tokens && (await currentClaims(call.session))
  if (!claims) return startSignIn(call)
  const { email, ...others } = claims
  const rows = Object.entries(others).map(
    ([name, value]) => `<dt>${name}<dd id="${name}">${escapeHtml(value)}`,
  )
  const user = `<p>Signed in as <strong id="email">${escapeHtml(email)}</strong></p>`
  const list = `<details><summary>What the login sent</summary><dl>${rows.join('')}</dl></details>`
  const form = '<form method="post" action="/sign-out"><button>Sign out</button></form>'
  send(call.response, 200, 'Dashboard', user + list + form)
}

/**
 * Signs out. Accepts only the form of this dashboard, by the `Origin` that browsers send
 * with every POST.
 */
async function signOut({ request, response, id, session }) {
  if (request.headers.origin !== OWN_URL) return send(response, 403, 'Not from this site')
  const url = await login.endSessionUrl(session?.tokens?.idToken)
  sessions.delete(id)
  redirect(response, url)
}

function redirect(response, location) {
  response.writeHead(303, { Location: location, 'Cache-Control': 'no-store' }).end()
}

function send(response, status, title, html = '') {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    // form-action includes the login because the sign-out redirects there
    'Content-Security-Policy': `default-src 'none'; img-src data:; style-src 'sha256-${stylesHash}'; form-action 'self' ${login.LOGIN_URL}; frame-ancestors 'none'`,
  })
  const links = Object.entries(pages).map(
    ([path, name]) => `<a href="${path}">${name}</a>`,
  )
  response.end(`<!doctype html><html lang="en">
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="icon" href="data:,"><title>${title}</title><style>${styles}</style>
<header>Example dashboard<nav>${links.join('')}</nav></header>
<main><h1>${title}</h1>${html}</main></html>
`)
}

function escapeHtml(value) {
  return String(value).replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}

async function handle(request, response) {
  const [path, search] = request.url.split('?')
  const cookie = request.headers.cookie
    ?.split('; ')
    .find((pair) => pair.startsWith(`${cookieName}=`))
  const id = cookie?.slice(cookieName.length + 1)
  const call = {
    request,
    response,
    id,
    session: sessions.get(id),
    query: new URLSearchParams(search),
  }
  const route = `${request.method} ${path}`
  if (route === 'GET /callback') return finishSignIn(call)
  if (route === 'POST /sign-out') return signOut(call)
  if (request.method === 'GET' && path in pages) return showPage(call)
  send(response, 404, 'Not found')
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error.message)
    // such as a response of another issuer, which openid-client rejects (RFC 9207)
    if (error.code === 'OAUTH_INVALID_RESPONSE') return reject(response)
    send(response, 503, 'The login did not respond', '<p>Try again in a minute.</p>')
  })
})
server.listen(Number(PORT), '127.0.0.1', () =>
  console.log(`A dashboard of ${login.LOGIN_URL}: ${OWN_URL}`),
)
