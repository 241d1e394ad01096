import type { Texts } from '@/lib/page/texts/en'
import { Icon } from './icon'

type Properties = {
  shared: Texts['shared']
  texts: { noScript: string; notLoaded: string }
  /** The way on that needs no script. Where there is none, what was typed stays to be seen. */
  wayOn?: React.ReactNode
  children: React.ReactNode
}

/** Content that needs a script, and what to do without one, or if it does not arrive. app/layout.tsx and styles.css show the one or the other. */
export function NeedsScript({ shared, texts, wayOn, children }: Properties) {
  const Heading = wayOn ? 'h1' : 'h2'
  return (
    <>
      <div className={wayOn ? 'not-loaded instead' : 'not-loaded'} role="alert">
        {wayOn && <Icon icon="wrong" />}
        <Heading>{shared.notLoaded}</Heading>
        <p>{texts.notLoaded}</p>
        {wayOn}
      </div>
      <div className="needs-script">{children}</div>
      <noscript>
        <h1>{shared.noScript}</h1>
        <p>{texts.noScript}</p>
        {wayOn}
      </noscript>
    </>
  )
}
