/** The URL paths of the files in public/brand/. */
export type BrandFiles = { logo?: string; logoDark?: string; icon?: string; touchIcon?: string; font?: string }

/**
 * Returns the files of the brand. next.config.mjs lists them when it is loaded: a function on Vercel
 * can't read public/.
 */
export function brandFiles(): BrandFiles {
  return JSON.parse(process.env.BRAND_FILES!)
}
