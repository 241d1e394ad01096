import { minGuesses } from '@/lib/password/thresholds'

const strongGuesses = 1e12

let worker: Worker | undefined
let questions = 0

/** Rates a password of a correct format in a worker. Rejects if the worker does not load. */
export async function judge(password: string, context: string[]): Promise<'weak' | 'good' | 'strong'> {
  const guesses = await countGuesses(password, context)
  if (guesses < minGuesses) return 'weak'
  return guesses < strongGuesses ? 'good' : 'strong'
}

function countGuesses(password: string, context: string[]): Promise<number> {
  worker ??= new Worker(new URL('./strength-worker.ts', import.meta.url))
  const asked = worker
  const id = ++questions
  return new Promise((resolve, reject) => {
    const end = () => {
      asked.removeEventListener('message', onMessage)
      asked.removeEventListener('error', onError)
    }
    const onMessage = ({ data }: MessageEvent<{ id: number; guesses: number }>) => {
      if (data.id !== id) return
      end()
      resolve(data.guesses)
    }
    const onError = (event: ErrorEvent) => {
      end()
      worker = undefined // the next password tries again
      reject(event.error)
    }
    asked.addEventListener('message', onMessage)
    asked.addEventListener('error', onError)
    asked.postMessage({ id, password, context })
  })
}
