/**
 * Removes the secrets of URLs from later output, including that of Next.js: the query,
 * which may contain a code or token, and passwords.
 */
export function redactConsole(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...parameters: unknown[]) => boolean
    stream.write = ((chunk: unknown, ...rest: unknown[]) =>
      write(
        typeof chunk === 'string' ? redactUrls(chunk) : chunk,
        ...rest,
      )) as typeof stream.write
  }
}

/**
 * Replaces the query of each URL or path in a text with `?…`, and the user name and the
 * password with `…`. Removes each malformed URL that an error of Node.js quotes.
 */
export function redactUrls(text: string): string {
  // Messages about settings have examples with the words `user:password`.
  return text
    .replace(/(?<=[\w/)\]%.~-])\?[\w.~%-]+=[^\s'"<>`]*/g, '?…')
    .replace(/(?<=:\/\/)(?!user:password@)[^\s/'"<>`]+@/g, '…@')
    .replace(/(?<=\binput: )(['"`]).*\1/g, '…')
}
