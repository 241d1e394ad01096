import { takeFocus } from './screen'

type Properties = {
  title: string
  /** The id of the input that is wrong: the text is then a link to it. */
  field?: string
  /** `banner` if nothing is wrong with the input, so that sending it again may help. */
  className?: 'banner' | 'error-summary'
  /** Moves the focus here when it appears. For a summary that the server did not render. */
  focus?: true
  children: React.ReactNode
}

/** Says above a form why it was not accepted. */
export function ErrorSummary({ title, field, focus, className = 'error-summary', children }: Properties) {
  return (
    <div className={className} role="alert" tabIndex={-1} ref={focus && takeFocus}>
      <h2>{title}</h2>
      {field ? (
        <a
          href={`#${field}`}
          onClick={
            focus &&
            ((event) => {
              event.preventDefault() // a fragment in the URL would be a history entry without its state
              document.getElementById(field)!.focus()
            })
          }
        >
          {children}
        </a>
      ) : (
        children
      )}
    </div>
  )
}
