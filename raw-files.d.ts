/** The text of a script, to be inlined into a page. A build minifies it (see next.config.mjs). */
declare module '*?raw' {
  const text: string
  export default text
}
