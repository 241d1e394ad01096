const pauseFactor = 9

/**
 * Returns a function that has requests clean up: called with the number of rows that a request owes,
 * it deletes as many as requests owe by then, at most `most`, and does not wait. One deletion at a
 * time takes at most a tenth of a connection of this process: as long as anybody's transaction is
 * open that could see them, PostgreSQL passes over all rows deleted since.
 */
export function besideRequests(deleteRows: (limit: number) => Promise<unknown>, most: number): (rows: number) => void {
  let owed = 0
  let mayBeginAt = 0
  return (rows) => {
    owed = Math.min(owed + rows, most)
    const begunAt = performance.now()
    if (begunAt < mayBeginAt) return
    mayBeginAt = Number.POSITIVE_INFINITY
    const limit = owed
    owed = 0
    deleteRows(limit)
      .catch(() => {}) // a later request goes on
      .finally(() => {
        const endedAt = performance.now()
        mayBeginAt = endedAt + pauseFactor * (endedAt - begunAt)
      })
  }
}
