/**
 * Removes the query of each URL from later output, including that of Next.js. A query may
 * contain a code or token.
 */
export function printNoQueries(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...parameters: unknown[]) => boolean
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(
        typeof chunk === 'string' ? withoutQueries(chunk) : chunk,
        ...rest,
      )) as typeof stream.write
  }
}

/** Replaces the query of each URL or path in a text with `?…`. */
export function withoutQueries(text: string): string {
  return text.replace(/(?<=[\w/)\]%.~-])\?[\w.~%-]+=[^\s'"<>`]*/g, '?…')
}
