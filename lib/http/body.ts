import type * as z from 'zod'
import { ApiError, type Issue, invalid } from '../contract/errors'

const maxBodyBytes = 16 * 1024
const bodyTimeoutMs = 10_000

/**
 * Validates a JSON body of at most `maxBytes`, by default 16 KiB. Throws
 * UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE or VALIDATION_ERROR (quoting no value).
 */
export async function parseJson<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  maxBytes?: number,
): Promise<z.output<Schema>> {
  const body = await readBody(request, 'application/json', maxBytes)
  return validate(parseText(body), schema)
}

function validate<Schema extends z.ZodType>(
  given: unknown,
  schema: Schema,
): z.output<Schema> {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data

  const issues = parsed.error.issues.map(({ path, code, message }) => ({
    path: path as Issue['path'],
    code,
    message,
  }))

  throw new ApiError('VALIDATION_ERROR', {
    message: 'The body does not match the expected schema.',
    issues,
  })
}

/**
 * Validates a form. Throws UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, or VALIDATION_ERROR
 * (quoting no value), also if a parameter is repeated (RFC 6749 §3.2).
 */
export async function parseForm<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
): Promise<z.output<Schema>> {
  const form = await readForm(request)
  const names = [...form.keys()]
  if (new Set(names).size < names.length)
    throw invalid([], 'repeated', 'A parameter is repeated.')
  if ([...form.values()].some((value) => value.includes('\0')))
    throw invalid([], 'invalid_characters', 'A parameter contains a NUL character.')

  return validate(Object.fromEntries(form), schema)
}

/**
 * Reads a form of at most `maxBytes`, by default 16 KiB. Throws UNSUPPORTED_MEDIA_TYPE or
 * PAYLOAD_TOO_LARGE.
 */
export async function readForm(
  request: Request,
  maxBytes?: number,
): Promise<URLSearchParams> {
  const body = await readBody(request, 'application/x-www-form-urlencoded', maxBytes)
  return new URLSearchParams(body.toString())
}

/**
 * Reads a JSON body of one of these media types. Throws like `parseJson`.
 */
export async function readJson(
  request: Request,
  ...mediaTypes: [string, ...string[]]
): Promise<unknown> {
  const mediaType = mediaTypes.find((each) => isOfType(request, each)) ?? mediaTypes[0]
  return parseText(await readBody(request, mediaType))
}

async function readBody(
  request: Request,
  expectedType: string,
  maxBytes = maxBodyBytes,
): Promise<Buffer> {
  const message = `Send the body as ${expectedType}, in UTF-8, uncompressed.`
  if (!isOfType(request, expectedType))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', { message, check: 'content_type' })
  if (request.headers.has('content-encoding'))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', { message, check: 'content_encoding' })
  if (Number(request.headers.get('content-length')) > maxBytes)
    throw new ApiError('PAYLOAD_TOO_LARGE', { check: 'size' })

  const reader = request.body?.getReader()
  if (!reader) return Buffer.alloc(0)

  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    reader.cancel().catch(() => {}) // cancels the pending read
  }, bodyTimeoutMs)

  try {
    const bytes = await readBytes(reader, maxBytes)
    if (!timedOut) return bytes
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw invalid([], 'invalid_json', 'The request body was incomplete.')
  } finally {
    clearTimeout(timer)
    reader.cancel().catch(() => {})
  }

  throw invalid(
    [],
    'invalid_json',
    `The request body did not arrive within ${bodyTimeoutMs / 1000} seconds.`,
  )
}

/** Whether a body has the expected media type, in UTF-8. */
function isOfType(request: Request, expectedType: string): boolean {
  const contentType = (request.headers.get('content-type') ?? '').toLowerCase()
  const [mediaType, ...parameters] = contentType.split(';').map((part) => part.trim())
  const charset =
    parameters.find((parameter) => parameter.startsWith('charset=')) ?? 'charset=utf-8'

  return mediaType === expectedType && /^charset="?utf-?8"?$/.test(charset)
}

/** Reads to the end, or until the reader is canceled. Throws PAYLOAD_TOO_LARGE. */
async function readBytes(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0

  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.byteLength
    if (bytes > maxBytes) throw new ApiError('PAYLOAD_TOO_LARGE', { check: 'size' })
    chunks.push(part.value)
  }

  return Buffer.concat(chunks)
}

function parseText(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw invalid([], 'invalid_json', 'The body is not JSON in UTF-8.')
  }
}
