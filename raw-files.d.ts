/** The text of a file, to be inlined into a page (see `turbopack` in next.config.mjs). */
declare module '*?raw' {
  const text: string
  export default text
}
