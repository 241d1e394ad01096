import { brandFiles } from '@/lib/brand/files'

/**
 * The product's logo from public/brand/. Without a logo, the product's name next to its
 * first letter.
 */
export function Brand({ app }: { app: string }) {
  const { logo, logoDark } = brandFiles()
  return (
    <header className="brand" translate="no">
      {logo ? (
        <picture>
          {logoDark && <source srcSet={logoDark} media="(prefers-color-scheme: dark)" />}
          <img className="brand-logo" src={logo} alt={app} />
        </picture>
      ) : (
        <>
          <span className="brand-mark" aria-hidden="true">
            {[...app][0]}
          </span>
          <span className="brand-name">{app}</span>
        </>
      )}
    </header>
  )
}
