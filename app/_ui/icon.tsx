const paths = {
  good: 'M6.5 12.5l3.7 3.7 7.3-7.7',
  wrong: 'M12 6.5v7M12 17.3v.1',
  wait: 'M12 4.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15zM12 8v4.3l2.8 1.7',
  unclear: 'M9.1 9.2a2.9 2.9 0 1 1 4.4 2.6c-1 .6-1.5 1.1-1.5 2.2M12 17.4v.1',
  offline: 'M5 10.2a10.5 10.5 0 0 1 14 0M8 13.6a6 6 0 0 1 8 0M12 17.3v.1M5 5l14 14',
  chain:
    'M10.5 8.3l1.4-1.4a3.7 3.7 0 0 1 5.2 5.2l-1.4 1.4M13.5 15.7l-1.4 1.4a3.7 3.7 0 0 1-5.2-5.2l1.4-1.4',
  lock: 'M7 11h10v7.5H7zM9.2 11V8.6a2.8 2.8 0 0 1 5.6 0V11',
  mail: 'M4.8 7h14.4v10H4.8zM5 7.5l7 5.4 7-5.4',
}

export type IconName = 'busy' | keyof typeof paths

/** The icon of a screen. Decorative: hidden from screen readers. */
export function Icon({ icon }: { icon: IconName }) {
  if (icon === 'busy') return <span className="icon busy" aria-hidden="true" />

  return (
    <span className={`icon ${icon}`} aria-hidden="true">
      <svg viewBox="0 0 24 24">
        <path d={paths[icon]} pathLength={1} />
      </svg>
    </span>
  )
}
