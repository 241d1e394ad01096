import type { ServerResponse } from 'node:http'

/** Responds with a line of text instead of Next.js. */
export function reject(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Cache-Control': 'no-store',
  })
  response.end(`${text}\n`)
}

/**
 * Adds no-transform to pages, which may have secrets. Adds it last: Next.js does not
 * compress pages that have it.
 */
export function forbidTransform(response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (
    ...parameters: unknown[]
  ) => ServerResponse
  response.writeHead = (...parameters: unknown[]) => {
    const isPage = `${response.getHeader('Content-Type')}`.startsWith('text/html')
    if (isPage) response.setHeader('Cache-Control', 'no-store, no-transform')
    return writeHead(...parameters)
  }
}
