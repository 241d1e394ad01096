/** Sends `count` requests, `width` at a time, and answers what came back: each read to its end, with how long it took. */
export async function flood(
  count: number,
  send: (index: number) => Promise<Response>,
  width = 50,
): Promise<{ status: number; headers: Headers; ms: number }[]> {
  const answers: { status: number; headers: Headers; ms: number }[] = []
  let next = 0
  const client = async () => {
    while (next < count) {
      const index = next++
      const startedAt = performance.now()
      const answer = await send(index)
      await answer.arrayBuffer()
      answers.push({ status: answer.status, headers: answer.headers, ms: performance.now() - startedAt })
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, count) }, client))
  return answers
}

/** How many answers had a status. */
export function countOf(answers: { status: number }[], status: number): number {
  return answers.filter((answer) => answer.status === status).length
}
