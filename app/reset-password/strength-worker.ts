import { countGuesses } from '@/lib/password/strength'

type Question = { id: number; password: string; context: string[] }

// A worker, because judging takes longer than a frame, and building the dictionaries far longer.
addEventListener('message', ({ data: { id, password, context } }: MessageEvent<Question>) =>
  postMessage({ id, guesses: countGuesses(password, context) }),
)
