/** A response that is larger than its caller reads. */
export class ResponseTooLarge extends Error {
  override name = 'ResponseTooLarge'
}

/**
 * Fetches an uncompressed response of at most `maxBytes`. Throws ResponseTooLarge if it is larger:
 * a service that misbehaves must not occupy this process.
 */
export async function fetchLimited(url: string, options: RequestInit, maxBytes: number): Promise<Response> {
  const headers = new Headers(options.headers)
  headers.set('Accept-Encoding', 'identity')
  const response = await fetch(url, { ...options, headers, cache: 'no-store' })
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length // after decompression, in case the service compresses all the same
    if (bytes > maxBytes) throw new ResponseTooLarge(`more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return new Response(response.body && Buffer.concat(chunks), response)
}
