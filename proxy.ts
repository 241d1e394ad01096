import { type NextRequest, NextResponse } from 'next/server'
import { brandFiles } from './lib/brand/files'

export const config = {
  // Matches pages and unknown paths. Excludes cacheable files, and routes, which call
  // `countRequest` themselves.
  matcher:
    '/((?!api(?:/|$)|sign-out$|forgot-password/send$|account/update$|_next/static/|\\.well-known/(?:widget-|openid-)?jwks\\.json/?$|\\.well-known/(?:openid-configuration|oauth-authorization-server)/?$|\\.well-known/change-password/?$|openapi\\.json/?$|icon\\.svg$|favicon\\.ico$|robots\\.txt$).*)',
}

const brandPaths = Object.values(brandFiles()) // files whose names only the build knows

/** Responds to every request that is not for a route. */
export async function proxy(request: NextRequest): Promise<Response> {
  const { pathname } = request.nextUrl
  if (brandPaths.includes(pathname)) return NextResponse.next()

  // The preview sets the Content-Security-Policy of the page that it shows.
  if (process.env.HAS_PREVIEW && /^\/preview(\/|$)/.test(pathname))
    return NextResponse.next()

  // Loaded on first use, because loading it at start would delay the first response of a
  // process.
  const { respond } = await import('./app/_proxy/respond')

  return respond(request)
}
