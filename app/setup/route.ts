import type { SetupView } from './setup-page'

/**
 * The page for the holder of a setup link, in English. The proxy shows it only with
 * SETUP_LINKS, and sets its Content-Security-Policy.
 */
export async function GET(request: Request): Promise<Response> {
  const { setupPage } = await import('./setup-page')
  const nonce = request.headers.get('x-nonce')!
  const html = setupPage(await readView(request), nonce)

  return new Response(html, { headers: { 'Content-Type': 'text/html; charset=utf-8' } })
}

async function readView({ url, headers }: Request): Promise<SetupView> {
  const { readSetupCookie } = await import('@/lib/sso/setup/cookie')
  const { findTarget, findStage, isUser } = await import('@/lib/sso/setup/target')
  const linkId = readSetupCookie(headers)
  const target = linkId === null ? null : await findTarget(linkId)
  if (!target) return { state: 'closed' }

  const { link, connection, name } = target
  if (!link.isLive) {
    const isUsed = link.isChanged && connection !== null && connection.disabledAt === null
    return { state: 'ended', isUsed, name }
  }

  const { searchParams } = new URL(url)
  const stage = findStage(target)
  const mayApply =
    stage === 'enter' && link.mayActivate && link.isTried && connection !== null
  const { foreseeApply } = await import('@/lib/sso/setup/apply')

  return {
    state: stage,
    target,
    product: searchParams.get('product'),
    isLimited: searchParams.has('limited'),
    effects: mayApply ? await foreseeApply(connection) : [],
    isTesterKnown: link.triedAs === null || (await isUser(link.triedAs)),
  }
}
