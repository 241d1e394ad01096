type BrandFiles = { logo?: string; logoDark?: string; icon?: string; touchIcon?: string; font?: string }

/** Returns the URL paths of public/brand/. next.config.mjs lists them: a function on Vercel can't read that folder. */
export function brandFiles(): BrandFiles {
  return JSON.parse(process.env.BRAND_FILES!)
}
