import { createServer } from 'node:net'

const lockPort = 47_613

/** Runs something while no other test has a development server: Next.js allows one in a folder. The port is the lock, because it goes with the process. */
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
