import type { Texts } from '@/lib/texts/en'

type ScreenProperties = {
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
export function Screen({
  app,
  title,
  tab = title,
  icon,
  focus,
  children,
}: ScreenProperties) {
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

const iconPaths = {
  good: 'M6.5 12.1l3.7 3.7 7.3-7.7',
  wrong: 'M12 6.5v7M12 17.3v.1',
  wait: 'M12 4.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15zM12 8v4.3l2.8 1.7',
  unclear: 'M9.1 9.2a2.9 2.9 0 1 1 4.4 2.6c-1 .6-1.5 1.1-1.5 2.2M12 17.4v.1',
  offline: 'M5 10.2a10.5 10.5 0 0 1 14 0M8 13.6a6 6 0 0 1 8 0M12 17.3v.1M5 5l14 14',
  chain:
    'M10.5 8.3l1.4-1.4a3.7 3.7 0 0 1 5.2 5.2l-1.4 1.4M13.5 15.7l-1.4 1.4a3.7 3.7 0 0 1-5.2-5.2l1.4-1.4',
  lock: 'M7 11h10v7H7zM9 11V8.5a3 3 0 0 1 6 0V11',
  mail: 'M5 7h14v10H5zM5 7.5l7 5 7-5',
}

export type IconName = 'busy' | keyof typeof iconPaths

/** The icon of a screen. Decorative: hidden from screen readers. */
export function Icon({ icon }: { icon: IconName }) {
  if (icon === 'busy') return <span className="icon busy" aria-hidden="true" />

  return (
    <span className={`icon ${icon}`} aria-hidden="true">
      <svg viewBox="0 0 24 24">
        <path d={iconPaths[icon]} pathLength={1} />
      </svg>
    </span>
  )
}

type NeedsScriptProperties = {
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
export function NeedsScript({
  shared,
  texts,
  noScript,
  fallback,
  children,
}: NeedsScriptProperties) {
  const Heading = fallback ? 'h1' : 'h2'
  return (
    <>
      <div className={fallback ? 'not-loaded instead' : 'not-loaded'} role="alert">
        {fallback && <Icon icon="wrong" />}
        <div className="incomplete">
          <Heading>{shared.notLoaded}</Heading>
          <p>{texts.notLoaded}</p>
        </div>
        <div className="outdated">
          <Heading>{shared.updated.title}</Heading>
          {!fallback && <ReloadButton {...shared.updated} />}
        </div>
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

function ReloadButton({ body, reload }: Texts['shared']['updated']) {
  return (
    <>
      <p>{body}</p>
      <div className="actions">
        {/* early-submit.inline.js handles the click */}
        <button className="button" type="button" data-reload="">
          {reload}
        </button>
      </div>
    </>
  )
}
