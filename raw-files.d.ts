/** The text of a script or of styles. A build minifies it (see next.config.mjs). */
declare module '*?raw' {
  const text: string
  export default text
}
