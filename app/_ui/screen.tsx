import { Icon, type IconName } from './icon'

type Properties = {
  app: string
  title: string
  /** The title of the browser tab, if it differs. */
  tab?: string
  icon: IconName
  /**
   * Moves the focus to the heading, so that a screen reader continues there. For a screen that
   * replaces another.
   */
  focus?: boolean
  requestId?: string
  requestIdLabel?: string
  children: React.ReactNode
}

/** One state of a page: what happened, what it means, and what to do next. */
export function Screen({ app, title, tab = title, icon, focus, requestId, requestIdLabel, children }: Properties) {
  return (
    <>
      <title>{`${tab} – ${app}`}</title>
      <Icon icon={icon} />
      <h1 key={title} tabIndex={focus ? -1 : undefined} ref={focus ? takeFocus : undefined}>
        {title}
      </h1>
      {children}
      {requestId && (
        <p className="reference">
          {requestIdLabel} <code>{requestId}</code>
        </p>
      )}
    </>
  )
}

/** A ref callback that focuses its element on mount. */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus()
}
