/**
 * Removes the query of every URL from what is printed through `console` and the standard streams from now on: a query may hold a
 * code or a token, and Next.js puts URLs into messages of its own. The log of this app does not pass here, and holds no URL.
 */
export function printNoQueries(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...parameters: unknown[]) => boolean
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(typeof chunk === 'string' ? withoutQueries(chunk) : chunk, ...rest)) as typeof stream.write
  }
}

/** A text in which `?…` stands for the query of each URL or path. */
export function withoutQueries(text: string): string {
  return text.replace(/(?<=[\w/)\]%.~-])\?[\w.~%-]+=[^\s'"<>`]*/g, '?…')
}
