import { Icon, type IconName } from './icon'

type Properties = {
  app: string
  title: string
  /** The title of the browser tab, where it differs. */
  tab?: string
  icon: IconName
  /** The screen replaces another one that was read: its heading takes the focus, so that a screen reader continues there. */
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

/** A ref that focuses its element when that appears. */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus()
}
