import type { Texts } from '@/lib/texts/en'
import { Sign } from './screen'

type Properties = {
  shared: Texts['shared']
  texts: { noScript: string; notLoaded: string }
  /** The way on that needs no script. Where there is none, what was typed stays to be seen. */
  wayOn?: React.ReactNode
  children: React.ReactNode
}

/** What works with a script alone, and what to do where there is none, or where it does not arrive. app/layout.tsx and app/styles.ts show the one or the other. */
export function NeedsScript({ shared, texts, wayOn, children }: Properties) {
  const Heading = wayOn ? 'h1' : 'h2'
  return (
    <>
      <div className={wayOn ? 'not-loaded instead' : 'not-loaded'} role="alert">
        {wayOn && <Sign sign="wrong" />}
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
