import { after } from 'next/server'
import * as routes from '@/lib/contract/routes'
import { addToOrigin } from '@/lib/event/origin'
import { type AddToLog, route } from '@/lib/http/route'
import type { Directory } from '@/lib/scim/token'
import { readBearer } from '@/lib/session/tokens'
import { sendsMail } from '@/lib/settings/env'

const mediaType = 'application/scim+json'
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/**
 * The SCIM service provider (RFC 7644), through which the directory of a connection adds,
 * changes and disables users. Without the setting SCIM, nothing of it is loaded.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  {
    ...routes.scim,
    methods,
    setting: 'SCIM',
    readPresented: (request) => authenticate(request),
    formatError: (status, detail) => ({
      body: {
        schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
        status: String(status),
        detail,
      },
      mediaType,
    }),
  },
  async ({ request, presented, params, addToLog }) => {
    const { ScimError, describeError } = await import('@/lib/scim/error')

    try {
      const directory = (presented as Directory | null) ?? (await requireToken(request))
      addToLog({ connection: directory.slug })
      addToOrigin({ actor: 'directory', connectionId: directory.connectionId })
      if (directory.isDisabled)
        throw new ScimError(403, 'connection', 'This connection is disabled.')

      const { answer } = await import('@/app/api/scim/v2/answer')
      const path = (params as { path?: string[] }).path ?? []
      const { status, body, headers, effects, userId } = await answer(
        directory.connectionId,
        request,
        path,
      )
      reportEffects(effects, addToLog)
      if (userId) addToLog({ userId })

      return respond(status, body, headers)
    } catch (error) {
      if (!(error instanceof ScimError)) throw error

      const { status, check, detail, scimType } = error
      addToLog({ check })
      return respond(
        status,
        describeError(status, detail, scimType),
        errorHeaders[status],
      )
    }
  },
)

const errorHeaders: Record<number, Record<string, string>> = {
  401: { 'WWW-Authenticate': 'Bearer' }, // RFC 9110 §11.6.1
}

async function authenticate({ headers }: Request): Promise<Directory | null> {
  const { findDirectory } = await import('@/lib/scim/token')
  return findDirectory(readBearer(headers))
}

/** Looks the token up once more, so that a failure of the database is not a wrong token. */
async function requireToken(request: Request): Promise<Directory> {
  const directory = await authenticate(request)
  if (directory) return directory

  const { rejectToken } = await import('@/lib/scim/token')
  throw await rejectToken(readBearer(request.headers))
}

function reportEffects(effects: string[], addToLog: AddToLog): void {
  if (effects.length > 0) addToLog({ scim: effects.join(' ') })
  if (effects.includes('renamed') && sendsMail())
    after(async () => (await import('@/lib/mail/sender')).sendAfterRequest())
}

function respond(
  status: number,
  body: object | null,
  headers: Record<string, string> = {},
): Response {
  if (!body) return new Response(null, { status, headers })
  return Response.json(body, {
    status,
    headers: { 'Content-Type': mediaType, ...headers },
  })
}
