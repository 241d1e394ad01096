import type { Texts } from '@/lib/texts/en'
import { Icon } from './icon'

type Properties = {
  shared: Texts['shared']
  texts: { noScript: string; notLoaded: string }
  /**
   * The text for a browser without scripts. By default, it asks the user to enable them.
   */
  noScript?: { title: string; body: string }
  /**
   * A link that replaces the content if scripts fail. Without a link, the content stays:
   * a form may have input.
   */
  fallback?: React.ReactNode
  children: React.ReactNode
}

/**
 * Content that needs scripts, and what is shown instead if they are disabled or fail to
 * load (see styles.css).
 */
export function NeedsScript({ shared, texts, noScript, fallback, children }: Properties) {
  const Heading = fallback ? 'h1' : 'h2'
  return (
    <>
      <div className={fallback ? 'not-loaded instead' : 'not-loaded'} role="alert">
        {fallback && <Icon icon="wrong" />}
        <Heading>{shared.notLoaded}</Heading>
        <p>{texts.notLoaded}</p>
        {fallback}
      </div>
      <div className="needs-script">{children}</div>
      <noscript>
        <h1>{noScript?.title ?? shared.noScript}</h1>
        <p>{noScript?.body ?? texts.noScript}</p>
        {fallback}
      </noscript>
    </>
  )
}
