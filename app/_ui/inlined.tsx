'use client'

import earlySubmit from './inline/early-submit.inline.js?raw'
import keptEmail from './inline/kept-email.inline.js?raw'
import languageSwitch from './inline/language-switch.inline.js?raw'
import sendJson from './inline/send-json.inline.js?raw'
import urlSecrets from './inline/url-secrets.inline.js?raw'
import pageStyles from './styles.css?raw'

const isServer = typeof window === 'undefined'
// without comments and indentation, which every page would send
const scripts = isServer
  ? [urlSecrets, sendJson, earlySubmit, keptEmail, languageSwitch]
      .join('')
      .replace(/^\s*(?:\/\/.*\s+)*/gm, '')
  : ''
const styles =
  isServer || process.env.NODE_ENV === 'development'
    ? pageStyles.replace(/\/\*.*?\*\/|\s+/gs, ' ')
    : ''

type Properties = { nonce: string | undefined; secrets: string; brandStyles: string }

/**
 * The scripts and styles in the head of every page. Imports them: React would send them
 * twice as properties.
 */
export function Inlined({ nonce, secrets, brandStyles }: Properties) {
  // suppressHydrationWarning is needed because browsers hide nonces from scripts,
  // including React.
  return (
    <>
      <script
        nonce={nonce}
        data-secrets={secrets}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: scripts }}
      />
      <style
        nonce={nonce}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: brandStyles + styles }}
      />
    </>
  )
}
