'use client'

import earlyExchange from './inline/early-exchange.inline.js?raw'
import earlySubmit from './inline/early-submit.inline.js?raw'
import keptEmail from './inline/kept-email.inline.js?raw'
import languageSwitch from './inline/language-switch.inline.js?raw'
import sendJson from './inline/send-json.inline.js?raw'
import urlSecrets from './inline/url-secrets.inline.js?raw'
import pageStyles from './styles.css?raw'

const isServer = typeof window === 'undefined'
// only on the server, so that the browser's scripts do not have these texts
const scripts = isServer
  ? compress([urlSecrets, sendJson, earlySubmit, keptEmail, languageSwitch])
  : ''
const exchangeScript = isServer ? compress([earlyExchange]) : ''
const styles =
  isServer || process.env.NODE_ENV === 'development'
    ? pageStyles.replace(/\/\*.*?\*\/|\s+/gs, ' ')
    : ''

/** Leaves out comments and indentation, which every page would send. */
function compress(texts: string[]): string {
  return texts.join('').replace(/^\s*(?:\/\/.*\s+)*/gm, '')
}

type Properties = {
  nonce: string | undefined
  secrets: string
  brandStyles: string
  /** The path to which the page posts the code of its URL at once. Null on other pages. */
  exchangePath: string | null
}

/**
 * The scripts and styles in the head of every page. Imports them: React would send them
 * twice as properties.
 */
export function Inlined({ nonce, secrets, brandStyles, exchangePath }: Properties) {
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
      {exchangePath && (
        <script
          nonce={nonce}
          data-path={exchangePath}
          suppressHydrationWarning
          dangerouslySetInnerHTML={{ __html: exchangeScript }}
        />
      )}
      <style
        nonce={nonce}
        suppressHydrationWarning
        dangerouslySetInnerHTML={{ __html: brandStyles + styles }}
      />
    </>
  )
}
