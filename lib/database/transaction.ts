import { asUnavailable, NothingChanged } from './errors'
import { resultMs } from './pool'
import { type Prisma, prisma } from './prisma'

export type Transaction = Prisma.TransactionClient

/**
 * Executes `work` in one transaction. Any error rolls back. A database error before
 * COMMIT becomes NothingChanged.
 */
export async function transaction<Result>(
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  let mayBeCommitted = false
  try {
    const run = async (tx: Transaction) => {
      const result = await work(tx)
      mayBeCommitted = true
      return result
    }
    return await prisma().$transaction(run, { maxWait: resultMs, timeout: resultMs })
  } catch (error) {
    if (mayBeCommitted || !asUnavailable(error)) throw error
    return NothingChanged.rethrow(error as Error)
  }
}
