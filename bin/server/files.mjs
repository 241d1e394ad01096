// The files of the build, from memory. They are two megabytes, and a stream for each request would
// leave its file open when a client leaves.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'

const mediaTypes = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.woff2': 'font/woff2',
}
// `q=0` means that the client does not accept gzip.
const acceptsGzip = /\bgzip\b(?!;q=0(\.0+)?(,|$))/i

/**
 * Reads the files of a folder, and what next.config.mjs compressed beside them, by URL path.
 * @param {string} folder
 * @returns {Map<string, { type: string, body: Buffer, gzip: Buffer | null }>}
 */
export function readFiles(folder) {
  const files = new Map()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath ?? entry.path, entry.name)
    const type = mediaTypes[extname(file)] ?? 'application/octet-stream'
    if (!entry.isFile() || file.endsWith('.gz')) continue
    const gzip = existsSync(`${file}.gz`) ? readFileSync(`${file}.gz`) : null
    files.set(`/${relative(folder, file).replaceAll(sep, '/')}`, { type, body: readFileSync(file), gzip })
  }
  return files
}

/** Sends a file that may be cached for good, because its name has a hash of its content. */
export function sendFile({ type, body, gzip }, request, response) {
  const compressed = gzip !== null && acceptsGzip.test(request.headers['accept-encoding']?.replaceAll(/\s/g, '') ?? '')
  const content = compressed ? gzip : body
  response.writeHead(200, {
    'Content-Type': type,
    'Content-Length': content.length,
    'Cache-Control': 'public, max-age=31536000, immutable',
    ...(gzip && { Vary: 'Accept-Encoding' }),
    ...(compressed && { 'Content-Encoding': 'gzip' }),
  })
  response.end(request.method === 'HEAD' ? undefined : content)
}
