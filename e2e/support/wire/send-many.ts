type Answer = { status: number; headers: Headers; ms: number }

/**
 * Sends `count` requests, at most `concurrency` at a time. Returns statuses, headers and
 * durations.
 */
export async function sendMany(
  count: number,
  send: (index: number) => Promise<Response>,
  concurrency = 50,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let next = 0
  const client = async () => {
    while (next < count) {
      const index = next++
      const startedAt = performance.now()
      const response = await send(index)
      await response.arrayBuffer()
      answers.push({
        status: response.status,
        headers: response.headers,
        ms: performance.now() - startedAt,
      })
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, client))
  return answers
}

/** Returns how many responses have this status. */
export function countOf(answers: { status: number }[], status: number): number {
  return answers.filter((answer) => answer.status === status).length
}
