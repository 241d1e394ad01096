type Tone = 'busy' | 'good' | 'problem' | 'plain'

type Properties = {
  app: string
  title: string
  tone: Tone
  /** The screen replaces another one while the person is there: its heading takes the focus, so that a screen reader goes on from there. */
  focus?: boolean
  reference?: string
  referenceLabel?: string
  children: React.ReactNode
}

/** One state of a page: what happened, what it means, and what to do next. */
export function Screen({ app, title, tone, focus, reference, referenceLabel, children }: Properties) {
  return (
    <>
      <title>{`${title} – ${app}`}</title>
      <Sign tone={tone} />
      <h1 key={title} tabIndex={focus ? -1 : undefined} ref={focus ? takeFocus : undefined}>
        {title}
      </h1>
      {children}
      {reference && (
        <p className="reference">
          {referenceLabel} <code>{reference}</code>
        </p>
      )}
    </>
  )
}

/** A ref that focuses its element when that appears. */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus()
}

const paths = { good: 'M7 12.5l3.4 3.4L17 9', problem: 'M12 7v6.2M12 16.6v.1', plain: 'M7.5 12h9M13 8.5l3.5 3.5-3.5 3.5' }

function Sign({ tone }: { tone: Tone }) {
  if (tone === 'busy') return <span className="sign busy" aria-hidden="true" />
  return (
    <span className={`sign ${tone}`} aria-hidden="true">
      <svg
        viewBox="0 0 24 24"
        width="24"
        height="24"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.25"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        <path d={paths[tone]} />
      </svg>
    </span>
  )
}
