import { Icon, type IconName } from './icon'

type Properties = {
  app: string
  title: string
  /** The title of the browser tab. By default, `title`. */
  tab?: string
  icon?: IconName
  /**
   * Moves the focus to the heading, so that a screen reader continues there. For a screen
   * that replaces another.
   */
  focus?: boolean | undefined
  children: React.ReactNode
}

/** One state of a page: what happened, what it means, and what to do next. */
export function Screen({ app, title, tab = title, icon, focus, children }: Properties) {
  // Without `focus`, the key stays the same, because screen readers do not announce a
  // live region that is replaced.
  return (
    <div key={focus ? title : null} className={focus ? 'arriving' : undefined}>
      <title>{`${tab} – ${app}`}</title>
      {icon && <Icon icon={icon} />}
      <h1 tabIndex={focus ? -1 : undefined} ref={focus ? takeFocus : undefined}>
        {title}
      </h1>
      {children}
    </div>
  )
}

/** The links of a screen. The first link is the main one. */
export function Actions({ links }: { links: [url: string, label: string][] }) {
  return (
    <div className="actions">
      {links.map(([url, label], index) => (
        <a key={label} className={index === 0 ? 'button' : 'button quiet'} href={url}>
          {label}
        </a>
      ))}
    </div>
  )
}

/** A ref callback that focuses its element. */
export function takeFocus(element: HTMLElement | null): void {
  element?.focus()
}
