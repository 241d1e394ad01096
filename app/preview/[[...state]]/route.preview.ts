// The preview page shows every state of the app's pages, and every email, in each
// language and color scheme. Only development and tests compile this file (see
// next.config.mjs). The preview adds a script to a page of the app, to produce the state.
import { randomBytes, randomUUID } from 'node:crypto'
import PQueue from 'p-queue'
import { type Look, readLook, showInScheme } from '@/app/preview/look'
import { makeOverview } from '@/app/preview/overview'
import { createPath, type LinkState, type State, states } from '@/app/preview/states'
import { escapeHtml } from '@/lib/brand/escape-html'
import { substitutePage } from '@/lib/brand/substitute-page'
import { exchangeSsoCode } from '@/lib/code/exchange'
import { issueSsoCode } from '@/lib/code/issue'
import { unknownCaller } from '@/lib/contract/caller'
import { prisma } from '@/lib/database/prisma'
import { type MailKindName, mailKinds } from '@/lib/mail/kinds'
import { compose } from '@/lib/mail/messages'
import { issueResetToken } from '@/lib/password/reset'
import { makeChallenge } from '@/lib/second-factor/challenge'
import { findFactor } from '@/lib/second-factor/find'
import { env, sendsMail } from '@/lib/settings/env'
import { createUser, findUserByEmail, signOutUser } from '@/lib/user/user'
import frameScript from '../frame.inline.js?raw'

const email = `reader-${process.pid}@preview.example` // the user of the previews, one per process
// one at a time, because a new reset link invalidates the earlier one
const opening = new PQueue({ concurrency: 1 })
const plainPage =
  '<!doctype html><style>:root{color-scheme:light dark}pre{white-space:pre-wrap}</style>'
const htmlHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
}

export async function GET(request: Request): Promise<Response> {
  const { pathname, search, searchParams } = new URL(request.url)
  if (pathname === '/preview/stay') return new Response(null, { status: 204 }) // keeps the browser on the page
  if (pathname.startsWith('/preview/late/'))
    await new Promise((resolve) => request.signal.addEventListener('abort', resolve))

  const look = readLook(searchParams)
  const names = listNames()
  if (pathname === '/preview')
    return new Response(makeOverview(names, look, search), { headers: htmlHeaders })

  const name = names.find((each) => createPath(each) === pathname)
  const state = name && states[name]
  if (state) return opening.add(() => showPage(state, look))
  if (name) return new Response(showMail(name, look), { headers: htmlHeaders })

  return new Response(null, {
    status: 404,
    headers: { 'Content-Type': 'text/javascript' },
  }) // for a failing script
}

/** Returns the names of the states and emails that the app has with its settings. */
function listNames(): string[] {
  const { PASSKEYS, PASSWORD_SIGN_IN, SECOND_FACTOR } = env()
  const available = Object.entries(states).filter(([, state]) => {
    const {
      passwords = PASSWORD_SIGN_IN,
      mail = sendsMail(),
      secondFactor = Boolean(SECOND_FACTOR),
      required = SECOND_FACTOR === 'required',
      passkeys = PASSKEYS,
    } = state

    return (
      passwords === PASSWORD_SIGN_IN &&
      mail === sendsMail() &&
      secondFactor === Boolean(SECOND_FACTOR) &&
      required === (SECOND_FACTOR === 'required') &&
      passkeys === PASSKEYS
    )
  })

  const mails = Object.keys(sendsMail() ? mailKinds : {})

  return [
    ...available.map(([name]) => name),
    ...mails.flatMap((kind) => [`mail: ${kind}`, `mail: ${kind}, text`]),
  ]
}

/** Responds with a page of the app, and the script that produces the state. */
async function showPage(state: State, look: Look): Promise<Response> {
  const path = state.link
    ? `${state.path}?token=${await openLink(state.link)}`
    : state.path
  const response = await requestPage(state, path, look)

  const policy = response.headers.get('content-security-policy') ?? ''
  const [, nonce = ''] = policy.match(/'nonce-([^']+)'/) ?? []
  const framed = policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
  const page = addScript(await response.text(), nonce, { ...state, path })

  return new Response(showInScheme(page, look), {
    headers: { ...htmlHeaders, 'Content-Security-Policy': framed },
  })
}

async function requestPage(
  { substitute, signedIn }: State,
  path: string,
  { language }: Look,
): Promise<Response> {
  const session = signedIn ? await signInReader(signedIn) : ''
  const headers = { Cookie: `language=${language}; ${session}` }

  return substitute
    ? new Response(substitutePage(substitute, new Headers(headers), '', 700))
    : fetch(env().PUBLIC_URL + path, { headers })
}

function addScript(html: string, nonce: string, state: State): string {
  const data = escapeHtml(JSON.stringify(state))
  const script = `<script nonce="${nonce}" data-state="${data}">${frameScript}</script>`
  const style = `<style nonce="${nonce}">nextjs-portal{display:none}</style>`
  const page = html
    .replace(/<head>|(?=<title>)/, (head) => head + script)
    .replace(/(?=<\/head>|<body|<main)/, style)

  return state.scripts
    ? page.replaceAll('/_next/static/', `/preview/${state.scripts}/`)
    : page
}

function showMail(name: string, look: Look): string {
  const [, kind, asText] = /^mail: ([\w-]+)(, text)?$/.exec(name)!
  const mail = {
    kind: kind as MailKindName,
    language: look.language,
    device: 'Firefox on Windows',
    requestedAt: new Date(),
    email: 'ada@example.com',
  }

  const url = `${env().PUBLIC_URL}/reset-password?token=${'x'.repeat(43)}`
  const { subject, text, html } = compose(mail, url, 7)
  const plain = `${plainPage}<pre>${escapeHtml(`${subject}\n\n${text}`)}</pre>`

  return showInScheme(asText ? plain : String(html), look)
}

/**
 * Starts sessions of the previews' user on three devices, and returns the cookies of one
 * device.
 */
async function signInReader(by: NonNullable<State['signedIn']>): Promise<string> {
  const id = await findReaderId()
  await signOutUser(id)
  const hash = by === 'sso' ? null : 'x'
  const enabledAt = by === 'factor' || by === 'passkeyFactor' ? new Date() : null
  await prisma().$executeRaw`
    UPDATE users SET password_hash = ${hash}, second_factor_at = ${enabledAt} WHERE id = ${id}`

  await storeApp(id, by === 'factor')
  await storePasskeys(id, by === 'passkey' || by === 'passkeyFactor')

  const tokens: string[] = []
  const refreshTokens: string[] = []
  for (const device of ['Safari on iPhone', null, 'Firefox on Windows']) {
    const { secret } = await issueSsoCode(id)
    const opened = await exchangeSsoCode(secret, { ...unknownCaller, device })
    tokens.push(opened.token)
    refreshTokens.push(opened.refreshToken)
  }

  // as after a sign-in with a passkey, which may add others
  if (by === 'passkey')
    await prisma().$executeRaw`
      UPDATE sessions SET method = 'passkey', amr = '{pop,user,mfa}' WHERE user_id = ${id}`
  const session = `session=${tokens[0]}; refresh=${refreshTokens[0]}`
  if (by === 'sso') return session

  const { challenge } = makeChallenge((await findFactor(id))!)
  return `${session}; challenge=${challenge}`
}

/** Stores an authenticator app of the previews' user, whose codes nobody has, or none. */
async function storeApp(userId: string, isWanted: boolean): Promise<void> {
  await prisma().secondFactor.deleteMany({ where: { userId } })
  if (isWanted)
    await prisma().secondFactor.create({
      data: { userId, encryptedSecret: 'x', lastStep: 0 },
    })
}

/** Replaces the passkeys of the previews' user by two, or by none. */
async function storePasskeys(userId: string, isWanted: boolean): Promise<void> {
  await prisma().passkey.deleteMany({ where: { userId } })
  if (!isWanted) return

  const common = {
    userId,
    publicKey: new Uint8Array(1),
    signCount: 0,
    transports: ['internal'],
  }
  const passkeys = [
    {
      aaguid: 'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4',
      backedUp: true,
      name: 'My phone',
      lastUsedAt: new Date(),
    },
    {
      aaguid: '00000000-0000-0000-0000-000000000000',
      backedUp: false,
      device: 'Firefox on Windows',
    },
  ]
  for (const passkey of passkeys)
    await prisma().passkey.create({
      data: {
        ...common,
        ...passkey,
        backupEligible: passkey.backedUp,
        id: randomUUID(),
        credentialId: new Uint8Array(randomBytes(16)),
      },
    })
}

async function openLink(link: LinkState): Promise<string> {
  const id = await findReaderId()
  const { secret } = await issueResetToken(id)
  if (link === 'used')
    await prisma()
      .$executeRaw`UPDATE reset_tokens SET used_at = now() WHERE user_id = ${id}`
  if (link === 'expired')
    await prisma()
      .$executeRaw`UPDATE reset_tokens SET expires_at = now() WHERE user_id = ${id}`

  return secret
}

async function findReaderId(): Promise<string> {
  await createUser(email)
  return (await findUserByEmail(email))!.id
}
