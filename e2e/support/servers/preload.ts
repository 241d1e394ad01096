/** Settings for `startServer` that load files of this folder into it first. */
export function preload(...files: string[]): Record<string, string> {
  return {
    NODE_OPTIONS: files
      .map((file) => `--import ${new URL(file, import.meta.url).href}`)
      .join(' '),
  }
}
