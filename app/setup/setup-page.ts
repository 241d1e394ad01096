import { escapeHtml } from '../../lib/brand/escape-html'
import { plainPage } from '../../lib/brand/plain-page'
import { copyableValue, copyScript, showValue, valueStyles } from '../../lib/brand/values'
import * as routes from '../../lib/contract/routes'
import { env } from '../../lib/settings/env'
import type { DomainEffect } from '../../lib/sso/setup/apply'
import type { Target } from '../../lib/sso/setup/target'
import { ssoUrl } from '../../lib/sso/urls'
import { textsIn } from '../../lib/texts/texts'
import { type OurValue, type Product, products, protocolNames } from './products'
import script from './setup.inline.js?raw'

/** What the page shows. `closed`: this browser has not opened a link in the past hour. */
export type SetupView =
  | { state: 'closed' }
  | { state: 'ended'; isUsed: boolean; name: string }
  | {
      state: 'enter' | 'renew' | 'nothing'
      target: Target
      /** The key of the chosen product, unverified. */
      product: string | null
      isLimited: boolean
      /** What applying the connection changes. Empty if the link may not do it now. */
      effects: DomainEffect[]
      /** Whether the account of the successful test belongs to a user. */
      isTesterKnown: boolean
    }

type OpenView = Extract<SetupView, { target: Target }>

const styles = `${valueStyles}
body{max-width:40rem}
ol.steps{padding-inline-start:1.5rem;list-style:decimal}
ol.steps li{margin-block-end:.5rem}
ul{margin:0;padding:0;list-style:none}
ul.effects{margin-block-end:1rem}
ul ul{padding-inline-start:1.5rem;list-style:disc}
#setup strong{color:var(--ink)}
ul a{display:block;padding:.625rem 0}
label{display:block;margin-block-start:1rem;font-weight:600}
input,textarea{box-sizing:border-box;width:100%;min-height:2.75rem;margin-block-start:.25rem;padding:.5rem .75rem;\
border:1px solid var(--ink-soft);border-radius:var(--radius);font:inherit;color:inherit;background:transparent}
textarea{min-height:8rem}
::placeholder{color:var(--ink-soft);opacity:1}
input:focus-visible,textarea:focus-visible{outline:3px solid var(--accent-text);outline-offset:2px}
::file-selector-button{margin-inline-end:.75rem;padding:.25rem .75rem;border:1px solid var(--line);\
border-radius:var(--radius);font:inherit;color:inherit;background:transparent;cursor:pointer}
button.button{width:100%;font:inherit;font-weight:600;cursor:pointer}
button.button[aria-disabled]{opacity:.6}
#status{margin-block:1rem 0;padding:.75rem;border:1px solid var(--line);border-radius:var(--radius);color:inherit;white-space:pre-line}`

/** Returns the page for the holder of a setup link. Every value from outside is text. */
export function setupPage(view: SetupView, nonce: string): string {
  const [title, main] = describe(view)
  const frame = `<div id="setup" data-open="${routes.openSetup.path}">
<p id="status" role="alert" hidden></p>
<noscript><p><strong>This page needs scripts. Allow them for this site, then open your link again.</strong></p></noscript>
${main}</div>
<script nonce="${nonce}">${copyScript}</script><script nonce="${nonce}">${script}</script>`

  return plainPage(textsIn('en'), nonce, title, frame, styles)
}

function describe(view: SetupView): [title: string, main: string] {
  const app = env().APP_NAME
  if (view.state === 'closed')
    return [
      'Open your setup link',
      `<p>You can set up single sign-on for ${showValue(app)} with a link from your contact there. It stays open for an hour: then, open it again.</p>`,
    ]

  if (view.state === 'ended') return describeEnded(view)

  if (view.state === 'nothing')
    return [
      'Single sign-on is set up',
      `<p>${showValue(view.target.name)} is in use. There is nothing left to do, and this link can’t change it.</p>`,
    ]

  if (view.state === 'renew') return ['Renew single sign-on', describeRenewal(view)]

  return ['Set up single sign-on', describeSetup(view)]
}

function describeEnded({
  isUsed,
  name,
}: Extract<SetupView, { state: 'ended' }>): [string, string] {
  if (isUsed)
    return [
      'Single sign-on is set up',
      `<p>${showValue(name)} is in use with what you have entered. This link has ended.</p>`,
    ]

  return [
    'This link has ended',
    '<p>It has expired, or was replaced or revoked. Ask your contact for a new one. What you have saved is kept.</p>',
  ]
}

function describeSetup(view: OpenView): string {
  const { target, isLimited } = view
  const { domains, link } = target
  const product = findProduct(view)
  const until = link.expiresAt.toISOString().slice(0, 10)

  return [
    `<p>For people with an address at ${domains.map(showValue).join(', ')}. Nobody is affected until the setup is finished. This link works until ${until}.</p>`,
    isLimited ? limitText : '',
    chooseProduct(view, product),
    ...(product ? [showSteps(target, product), enterValues(target, product)] : []),
    ...(target.connection ? [tryOut(view), finish(view)] : []),
  ].join('\n')
}

const limitText =
  '<p><strong>This link allows 30 tests and saved values per hour, rejected values included. Try again in an hour at the latest.</strong></p>'

/**
 * Returns the chosen product, or null for the list. After values are saved, it has the
 * protocol of these. An empty key leads back to the list.
 */
function findProduct({ target, product: key }: OpenView): Product | null {
  const chosen = key !== null && Object.hasOwn(products, key) ? products[key]! : null
  const saved = target.connection?.settings.kind
  if (!saved || key === '' || chosen?.protocol === saved) return chosen

  return products[`other-${saved}`]!
}

function chooseProduct({ target }: OpenView, chosen: Product | null): string {
  const saved = target.connection?.settings.kind
  const heading = '<h2>1. Your product</h2>'
  if (chosen) {
    const name = `${escapeHtml(chosen.name)}, with ${protocolNames[chosen.protocol]}`
    return `${heading}<p>${name}. <a href="/setup?product=">Choose another one</a></p>`
  }

  const entries = Object.entries(products)
    .filter(([, { protocol }]) => !saved || protocol === saved)
    .map(
      ([key, { name, protocol }]) =>
        `<li><a href="/setup?product=${key}">${escapeHtml(name)}, with ${protocolNames[protocol]}</a></li>`,
    )

  const hint = saved
    ? `You have saved values for ${protocolNames[saved]}. To use the other protocol, ask your contact for a new start.`
    : 'If both protocols are listed, OpenID Connect needs less work.'

  return `${heading}<p>Where do your people sign in? ${hint}</p><ul>${entries.join('')}</ul>`
}

function showSteps({ slug }: Target, product: Product): string {
  const { name, values, steps, isTested } = product
  const ours: Record<OurValue, string> = {
    redirectUri: ssoUrl(slug, 'callback'),
    startUrl: ssoUrl(slug, 'start'),
    entityId: ssoUrl(slug, 'metadata'),
    acsUrl: ssoUrl(slug, 'acs'),
    metadataUrl: ssoUrl(slug, 'metadata'),
  }
  const entries = values.map(
    ([label, key]) => `<dt>${escapeHtml(label)}</dt><dd>${copyableValue(ours[key])}</dd>`,
  )
  const untested =
    isTested === false
      ? '<p>These steps are not tested in the product: its menus may have other names.</p>'
      : ''
  const items = steps.map((step) => `<li>${escapeHtml(step)}</li>`)

  const place = isTested === null ? 'your product' : escapeHtml(name)

  return `<h2>2. At ${place}</h2>${untested}<ol class="steps">${items.join('')}</ol><h3>Our values</h3><dl>${entries.join('')}</dl>`
}

function enterValues({ connection }: Target, product: Product): string {
  const { protocol, issuer } = product
  const correct = protocol === 'saml' ? ' To correct it, import the metadata again.' : ''
  const saved = connection
    ? `<p>Saved: ${showValue(connection.settings.issuer)}.${correct}</p>`
    : ''
  const heading = `<h2>3. Enter the values of your provider</h2>${saved}`
  if (protocol === 'saml') return `${heading}${form('saml', metadataFields, 'Save')}`

  const stored = connection?.settings.kind === 'oidc' ? connection.settings : null
  const secretHint = stored ? ' (empty keeps the saved one)' : ''
  const fields = [
    field(
      'issuer',
      'Issuer',
      stored?.issuer,
      `placeholder="${escapeHtml(issuer ?? '')}"`,
    ),
    field('clientId', 'Client ID', stored?.clientId),
    field('clientSecret', `Client secret${secretHint}`),
  ]

  return `${heading}${form('oidc', fields.join(''), 'Save')}`
}

const metadataFields = `<label for="file">Metadata file (XML)</label><input id="file" name="file" type="file" accept=".xml,text/xml,application/xml,application/samlmetadata+xml">
<label for="text">Or its text</label><textarea id="text" name="text" spellcheck="false" autocomplete="off"></textarea>`

/** Not of the type password, because password managers would store a client secret. */
function field(name: string, label: string, value = '', attributes = ''): string {
  return `<label for="${name}">${escapeHtml(label)}</label><input id="${name}" name="${name}" value="${escapeHtml(value)}" autocomplete="off" autocapitalize="none" spellcheck="false" ${attributes}>`
}

/** Without scripts, its button stays disabled: the fields must not be in a URL. */
function form(protocol: 'oidc' | 'saml' | '', fields: string, action: string): string {
  const { path } = protocol ? routes.saveSetup : routes.applySetup
  return `<form method="post" data-path="${path}" data-protocol="${protocol}" autocomplete="off">${fields}<button class="button" disabled>${escapeHtml(action)}</button></form>`
}

function tryOut(view: OpenView): string {
  const { link } = view.target
  const result = link.isTried
    ? describeTested(view)
    : '<p>No test has succeeded yet. The test signs nobody in. It opens a tab that shows what your provider sends, and what to correct.</p>'

  return `<h2>4. Test</h2>${result}<a class="button" id="test" href="${routes.testSetup.path}" target="_blank" rel="noopener">${link.isTried ? 'Test again' : 'Test a sign-in'}</a>`
}

function describeTested({ target, isTesterKnown }: OpenView): string {
  const { triedAs } = target.link
  const tester = triedAs === null ? '' : `, with ${showValue(triedAs)}`
  const succeeded = `<p><strong>A test has succeeded${tester}.</strong> If you change your provider after it, test again.</p>`
  if (isTesterKnown) return succeeded

  return `${succeeded}<p>${showValue(env().APP_NAME)} has no user with this address yet. Your contact can add the user.</p>`
}

function finish(view: OpenView): string {
  const { link, domains } = view.target
  const app = showValue(env().APP_NAME)
  const heading = '<h2>5. Finish</h2>'
  if (!link.isTried) {
    const then = link.mayActivate ? '' : `: then, your contact at ${app} switches it on`
    return `${heading}<p>Possible after a successful test${then}.</p>`
  }

  if (!link.mayActivate)
    return `${heading}<p>Now tell your contact at ${app} that it works. They check the values, and switch it on.</p>`

  const { effects } = view

  const free = effects.filter(({ isTaken }) => !isTaken).map(({ domain }) => domain)
  const names = (free.length > 0 ? free : domains).join(', ')
  const action = free.length > 0 ? `Use it for everybody at ${names}` : 'Switch it on'

  return `${heading}<ul class="effects">${effects.map(describeEffect).join('')}</ul>${warn(view)}${form('', '', action)}`
}

/** A test with a person who is no user does not show that the addresses are the same. */
function warn({ effects, isTesterKnown }: OpenView): string {
  const concerned = effects.filter(({ isTaken, users }) => !isTaken && users > 0)
  if (isTesterKnown || concerned.length === 0) return ''

  const names = concerned.map(({ domain }) => showValue(domain)).join(', ')
  return `<p><strong>Test with the account of a user first.</strong> If your provider sends other addresses than ${showValue(env().APP_NAME)} has, nobody at ${names} can sign in any more.</p>`
}

function describeEffect(effect: DomainEffect): string {
  const { domain, users, linked, mayUsePassword, withSecondFactor, isTaken } = effect
  if (isTaken)
    return `<li>${showValue(domain)} uses another connection now. Your contact has to move it.</li>`

  const counts = Object.entries({
    users,
    'signed in this way': linked,
    'may use a password now': mayUsePassword,
    'with a second factor': withSecondFactor,
  })
  const items = counts.map(([label, count]) => `<li>${label}: ${count}</li>`).join('')

  return `<li>${showValue(domain)}<ul>${items}</ul>From now on, everybody there signs in with your provider. Passwords can’t be used any more, unless your contact allows them.</li>`
}

function describeRenewal({ target, isLimited }: OpenView): string {
  const { name, connection, link } = target
  const { settings } = connection!
  const isOidc = settings.kind === 'oidc'
  const what = isOidc
    ? 'Enter the new client secret. It replaces the present one at once.'
    : 'Import the new metadata of the same provider. Its certificates replace the present ones at once.'
  const fields = isOidc
    ? field('clientSecret', 'New client secret', '', 'required')
    : metadataFields
  const until = link.expiresAt.toISOString().slice(0, 10)

  return `<p>${showValue(name)} is in use with ${showValue(settings.issuer)}. ${what} This link works once, until ${until}.</p>${isLimited ? limitText : ''}${form(settings.kind, fields, 'Replace')}`
}
