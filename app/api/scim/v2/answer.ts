import { readJson } from '@/lib/http/body'
import type { Effect } from '@/lib/scim/active'
import { readPatch, readUser } from '@/lib/scim/attributes'
import { describeService, listResourceTypes, listSchemas } from '@/lib/scim/discovery'
import { ScimError } from '@/lib/scim/error'
import { listUsers, requireUser } from '@/lib/scim/find'
import { locate, toList, toResource } from '@/lib/scim/resource'
import {
  addUser,
  type Outcome,
  patchUser,
  removeUser,
  replaceUser,
} from '@/lib/scim/write'

/** A response, and what the request has changed. */
type Answer = {
  status: number
  body: object | null
  headers?: Record<string, string>
  effects: Effect[]
  userId?: string
}

/** Answers a request of the directory of a connection. Throws ScimError. */
export async function answer(
  connectionId: string,
  request: Request,
  path: string[],
): Promise<Answer> {
  const [endpoint = '', id, ...rest] = path
  const isKnown = rest.length === 0 && Object.hasOwn(endpoints, endpoint)
  if (!isKnown) throw unknownEndpoint()

  return endpoints[endpoint as keyof typeof endpoints](connectionId, request, id)
}

type Endpoint = (
  connectionId: string,
  request: Request,
  id: string | undefined,
) => Promise<Answer>

const endpoints = {
  Users: (connectionId, request, id) =>
    id === undefined
      ? answerAboutUsers(connectionId, request)
      : answerAboutUser(connectionId, request, id),
  Groups: async (_connectionId, { method }, id) => {
    if (method !== 'GET')
      throw new ScimError(501, 'scim_groups', 'This service has no groups.')
    if (id !== undefined) throw unknownEndpoint()

    return found(toList([], 0, 1))
  },
  ServiceProviderConfig: async (_connectionId, request, id) => {
    requireGet(request)
    if (id !== undefined) throw unknownEndpoint()

    return found(describeService())
  },
  ResourceTypes: async (_connectionId, request, id) =>
    choose(request, listResourceTypes(), id),
  Schemas: async (_connectionId, request, id) => choose(request, listSchemas(), id),
} satisfies Record<string, Endpoint>

async function answerAboutUsers(connectionId: string, request: Request): Promise<Answer> {
  if (request.method === 'GET')
    return found(await listUsers(connectionId, new URL(request.url).searchParams))
  if (request.method !== 'POST') throw wrongMethod('GET, POST')

  const outcome = await addUser(connectionId, readUser(await readMessage(request)))
  const { status, ...answered } = changed(outcome)

  return { status: 201, ...answered, headers: { Location: locate(outcome.user.userId) } }
}

async function answerAboutUser(
  connectionId: string,
  request: Request,
  id: string,
): Promise<Answer> {
  const userId = id.toLowerCase()

  switch (request.method) {
    case 'GET':
      return found(toResource(await requireUser(connectionId, userId)))
    case 'PUT': {
      const given = readUser(await readMessage(request))
      return changed(await replaceUser(connectionId, userId, given))
    }
    case 'PATCH': {
      const changes = readPatch(await readMessage(request))
      return changed(await patchUser(connectionId, userId, changes))
    }
    case 'DELETE':
      return {
        ...changed(await removeUser(connectionId, userId)),
        status: 204,
        body: null,
      }
    default:
      throw wrongMethod('GET, PUT, PATCH, DELETE')
  }
}

function readMessage(request: Request): Promise<unknown> {
  return readJson(request, 'application/scim+json', 'application/json')
}

function found(body: object): Answer {
  return { status: 200, body, effects: [] }
}

function changed({ user, effects }: Outcome): Answer {
  return { status: 200, body: toResource(user), effects, userId: user.userId }
}

/** Returns all of these resources, or the one with an ID. */
function choose(
  request: Request,
  resources: { id: string }[],
  id: string | undefined,
): Answer {
  requireGet(request)
  if (id === undefined) return found(toList(resources, resources.length, 1))

  const resource = resources.find((each) => each.id === id)
  if (!resource) throw unknownEndpoint()

  return found(resource)
}

function requireGet({ method }: Request): void {
  if (method !== 'GET') throw wrongMethod('GET')
}

function wrongMethod(allowed: string): ScimError {
  return new ScimError(405, 'method', `This endpoint has only the methods ${allowed}.`)
}

function unknownEndpoint(): ScimError {
  return new ScimError(404, 'path_unknown', 'There is no such endpoint.')
}
