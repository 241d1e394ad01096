type Name =
  | 'logo'
  | 'logoDark'
  | 'mailLogo'
  | 'mailLogoDark'
  | 'icon'
  | 'touchIcon'
  | 'font'

/**
 * Returns the URL paths of the files in public/brand/. The build lists them, because
 * functions on Vercel lack them.
 */
export function brandFiles(): Partial<Record<Name, string>> {
  return JSON.parse(process.env.BRAND_FILES ?? '{}')
}

/**
 * Returns the HTML of a logo, for documents without React. All parameters must already be
 * escaped.
 */
export function logoHtml(
  name: string,
  url: string,
  darkUrl?: string,
  attributes = '',
): string {
  const dark = darkUrl
    ? `<source srcset="${darkUrl}" media="(prefers-color-scheme:dark)">`
    : ''
  return `<picture>${dark}<img src="${url}" alt="${name}"${attributes}></picture>`
}
