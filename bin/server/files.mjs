// The files of the build and of public/, from memory. They are two megabytes, and a stream for each
// request would leave its file open when a client leaves.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'

const mediaTypes = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.txt': 'text/plain; charset=utf-8',
}
// `q=0` means that the client does not accept gzip.
const acceptsGzip = /\bgzip\b(?!;q=0(\.0+)?(,|$))/i

/**
 * Reads the files of a folder, and what next.config.mjs compressed beside them, by URL path.
 * @param {string} folder
 * @param {string} prefix of the URL paths
 * @param {string} caching the Cache-Control header
 * @returns {[string, { type: string, body: Buffer, gzip: Buffer | null, caching: string }][]}
 */
export function readFiles(folder, prefix, caching) {
  if (!existsSync(folder)) return [] // public/ may be missing
  const files = []
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath ?? entry.path, entry.name)
    const type = mediaTypes[extname(file)] ?? 'application/octet-stream'
    if (!entry.isFile() || file.endsWith('.gz')) continue
    const gzip = existsSync(`${file}.gz`) ? readFileSync(`${file}.gz`) : null
    const path = `${prefix}/${relative(folder, file).replaceAll(sep, '/')}`
    files.push([path, { type, body: readFileSync(file), gzip, caching }])
  }
  return files
}

/** Sends a file. */
export function sendFile({ type, body, gzip, caching }, request, response) {
  const compressed = gzip !== null && acceptsGzip.test(request.headers['accept-encoding']?.replaceAll(/\s/g, '') ?? '')
  const content = compressed ? gzip : body
  response.writeHead(200, {
    'Content-Type': type,
    'Content-Length': content.length,
    'Cache-Control': caching,
    ...(gzip && { Vary: 'Accept-Encoding' }),
    ...(compressed && { 'Content-Encoding': 'gzip' }),
  })
  response.end(request.method === 'HEAD' ? undefined : content)
}
