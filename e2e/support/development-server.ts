import { createServer } from 'node:net'

const lockPort = 47_613

/**
 * Runs `act` while no other test has a development server, because Next.js allows only one per
 * folder. The lock is a port: it is released automatically when the process ends.
 */
export async function onlyDevelopmentServer<Result>(act: () => Promise<Result>): Promise<Result> {
  const lock = createServer()
  const locked = () =>
    new Promise<boolean>((resolve) => {
      lock.once('error', () => resolve(false))
      lock.listen(lockPort, '127.0.0.1', () => resolve(true))
    })
  while (!(await locked())) await new Promise((resolve) => setTimeout(resolve, 500))
  try {
    return await act()
  } finally {
    lock.close()
  }
}
