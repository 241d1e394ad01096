import { type NextRequest, NextResponse } from 'next/server'
import { brandFiles } from './lib/page/brand-files'

export const config = {
  // Pages, and paths that do not exist. Not routes, which count their own requests, and not files, which are cached.
  matcher:
    '/((?!api(?:/|$)|sign-out$|forgot-password/send$|account/update$|_next/static/|\\.well-known/(?:widget-)?jwks\\.json/?$|\\.well-known/change-password/?$|openapi\\.json/?$|icon\\.svg$|favicon\\.ico$|robots\\.txt$).*)',
}

const brandPaths = Object.values(brandFiles()) // files too, but only the build knows them

/** Responds to every request that is not for a route. */
export async function proxy(request: NextRequest): Promise<Response> {
  const { pathname } = request.nextUrl
  if (brandPaths.includes(pathname)) return NextResponse.next()
  // The preview has the policy of the page that it shows.
  if (process.env.HAS_PREVIEW && /^\/preview(\/|$)/.test(pathname)) return NextResponse.next()
  // Not loaded at start, which would delay the first response of a process to any request.
  const { respond } = await import('./app/page-proxy')
  return respond(request)
}
