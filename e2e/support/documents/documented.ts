import { Ajv2020 } from 'ajv/dist/2020.js'
import { openApiDocument } from '../../../lib/http/openapi'

// The OpenAPI document allows additional fields, so that later versions can add some. The
// tests allow none, so that every field is documented.
const document = closed(openApiDocument) as typeof openApiDocument
const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  validateFormats: false,
}).addSchema(document, 'document')
// Strict-Transport-Security applies to the whole site, not to an operation.
const ofTransport = new Set(
  'connection content-length content-type date keep-alive strict-transport-security transfer-encoding vary'.split(
    ' ',
  ),
)

type Described = { headers?: Record<string, object>; content?: Record<string, object> }

/**
 * An error for a response that the document does not describe. Used in place of
 * Playwright's `expect`, which takes a millisecond per call and so is too slow for
 * thousands of responses.
 */
export class UndocumentedResponse extends Error {}

function demand(condition: unknown, message: string): asserts condition {
  if (!condition) throw new UndocumentedResponse(message)
}

/**
 * Like `fetch`, but throws unless the OpenAPI document describes the response: its
 * status, every header, and the body.
 */
export async function documentedFetch(
  url: string,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(url, init)
  await demandDocumented(init?.method ?? 'GET', url, response.clone())
  return response
}

async function demandDocumented(
  method: string,
  url: string,
  response: Response,
): Promise<void> {
  const path = new URL(url).pathname.replace(/(.)\/$/, '$1')
  const what = `${method} ${path} ${response.status}`
  const { pointer, described } = describe(method, path, response.status)
  demand(described, `${what} is not in the document`)

  const headers = Object.fromEntries(
    Object.entries(described.headers ?? {}).map(([name, header]) => [
      name.toLowerCase(),
      header,
    ]),
  )
  for (const [name, value] of response.headers) {
    if (ofTransport.has(name)) continue
    // Public documents may be compressed, but no response of the API.
    if (name === 'content-encoding' && !path.startsWith('/api/')) continue
    const header = headers[name]
    demand(header, `${what}: the document does not know the header ${name}`)
    const { schema } = resolve(header).value as { schema: object }
    demand(ajv.validate(schema, value), `${what}, ${name}: ${ajv.errorsText()}`)
  }
  for (const [name, header] of Object.entries(headers)) {
    const { required } = resolve(header).value as { required: boolean }
    demand(!required || response.headers.has(name), `${what} lacks the header ${name}`)
  }

  const [mediaType] = Object.keys(described.content ?? {})
  const text = await response.text()
  if (method === 'HEAD' || !mediaType) return demand(text === '', `${what} has a body`)
  demand(
    response.headers.get('content-type')?.split(';')[0] === mediaType,
    `${what} is not ${mediaType}`,
  )
  const schema = `document#${pointer}/content/${escaped(mediaType)}/schema`
  const validate = ajv.getSchema(schema)
  if (!validate) throw new Error(`There is no ${schema}`)
  demand(
    validate(JSON.parse(text)),
    `${what}: ${ajv.errorsText(validate.errors)} in ${text.replace(/"[\w.-]{43,}"/g, '"…"')}`,
  )
}

/**
 * Finds the description of a response. Every operation documents 405 for other methods.
 * `/api/health` documents 404 for unknown paths.
 */
function describe(
  method: string,
  path: string,
  status: number,
): { pointer: string; described?: Described } {
  const paths = openApiDocument.paths as Record<
    string,
    Record<string, { responses: Record<string, object> }>
  >
  const item = paths[path] ?? (status === 404 ? paths['/api/health'] : undefined)
  if (!item) return { pointer: '' }
  const key = method === 'HEAD' ? 'get' : method.toLowerCase()
  const name = Object.hasOwn(item, key)
    ? key
    : status === 405 || !paths[path]
      ? Object.keys(item)[0]!
      : undefined
  const response = name && item[name]!.responses[status]
  if (!response) return { pointer: '' }
  const { value, pointer } = resolve(response)
  return {
    described: value as Described,
    pointer: pointer ?? `/paths/${escaped(path)}/${name}/responses/${status}`,
  }
}

function resolve(value: object): { value: object; pointer?: string } {
  if (!('$ref' in value)) return { value }
  const pointer = String(value.$ref).slice(1)
  return {
    pointer,
    value: pointer
      .split('/')
      .slice(1)
      .reduce((at: any, key) => at[key], openApiDocument),
  }
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))
}

function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const object = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, closed(inner)]),
  )
  return object.type === 'object' && object.properties
    ? { ...object, additionalProperties: false }
    : object
}
