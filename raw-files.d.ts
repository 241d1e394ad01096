/** The text of a script or of styles (see next.config.mjs). */
declare module '*?raw' {
  const text: string
  export default text
}
