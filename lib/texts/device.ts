/**
 * Returns the name of a device in a language. `text` is the “{browser} on {system}” of
 * that language. lib/http/caller.ts reads the device of a request.
 */
export function deviceIn(text: string, device: string): string {
  const [browser = '', system] = device.split(' on ')
  return system ? text.replace('{browser}', browser).replace('{system}', system) : browser
}
