/**
 * Sends `count` requests, `width` at a time, reads the responses to the end, and returns their
 * status, headers and duration.
 */
export async function flood(
  count: number,
  send: (index: number) => Promise<Response>,
  width = 50,
): Promise<{ status: number; headers: Headers; ms: number }[]> {
  const responses: { status: number; headers: Headers; ms: number }[] = []
  let next = 0
  const client = async () => {
    while (next < count) {
      const index = next++
      const startedAt = performance.now()
      const response = await send(index)
      await response.arrayBuffer()
      responses.push({ status: response.status, headers: response.headers, ms: performance.now() - startedAt })
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, count) }, client))
  return responses
}

/** Counts the responses with a status. */
export function countOf(responses: { status: number }[], status: number): number {
  return responses.filter((response) => response.status === status).length
}
