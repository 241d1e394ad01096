import type { Judgement, Question } from './strength-worker'

let worker: Worker | undefined

/**
 * Uses a worker to rate a password whose format is correct. Resolves to null if the
 * worker does not load. Rejects if the browser allows no workers.
 */
export function judgePassword(question: Question): Promise<Judgement | null> {
  return new Promise((resolve) => {
    worker ??= new Worker(new URL('./strength-worker.ts', import.meta.url))
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = ({ data }) => resolve(data)
    worker.onerror = () => {
      worker = undefined // the next rating loads it again
      resolve(null)
    }
    worker.postMessage(question, [port2])
  })
}
