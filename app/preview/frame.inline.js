// @ts-check
// The first script of a previewed page: mocks responses and the network, and then does
// what the user would do.
;(() => {
  const script = /** @type {InlineScript} */ (document.currentScript)
  const state = JSON.parse(script.dataset.state)
  const { path, mocks = {}, scripts, steps = [] } = state
  script.remove()
  history.replaceState(null, '', path)

  const realFetch = window.fetch
  window.fetch = (resource, options) => {
    const mock = mocks[new URL(String(resource), location.href).pathname]
    if (!mock) return realFetch(resource, options)
    if (mock === 'none') return new Promise(() => {})
    if (mock === 'lost') return Promise.reject(new TypeError('Failed to fetch'))
    const { status, headers, body } = mock
    return Promise.resolve(new Response(JSON.stringify(body), { status, headers }))
  }

  // Cancels navigations, so that the page stays. A navigation that begins while the page
  // loads could stop the loading.
  window.navigation?.addEventListener('navigate', (event) => {
    if (/^\/(preview\/stay|api\/)/.test(new URL(event.destination.url).pathname))
      event.preventDefault()
  })

  // A mock, because all pages of the preview share the real storage.
  const getItem = (/** @type {string} */ name) =>
    (name === 'email' && state.email) || null
  const storage = { getItem, setItem: () => {}, removeItem: () => {} }
  Object.defineProperty(window, 'sessionStorage', { value: storage })

  const disconnect = () =>
    Object.defineProperty(navigator, 'onLine', { value: false, configurable: true })
  if (state.offline) disconnect()

  // A page in a frame must not scroll the list. If the state has a digest, the first
  // focus throws an error with it.
  const { focus } = HTMLElement.prototype
  let { digest } = state
  HTMLElement.prototype.focus = function () {
    const error = digest && Object.assign(new Error('as the preview wants'), { digest })
    digest = null
    if (error) throw error
    focus.call(this, { preventScroll: top !== window })
  }

  const isVisible = (/** @type {HTMLElement} */ element) =>
    element.checkVisibility({ visibilityProperty: true })
  const find = async (/** @type {string} */ selector) => {
    for (;;) {
      /** @type {NodeListOf<HTMLElement>} */
      const elements = document.querySelectorAll(selector)
      const found = [...elements].find(isVisible)
      if (found) return found
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  /** @type {Record<string, (element: any, value: string) => void>} */
  const acts = {
    see: () => {},
    press: (element) => element.click(),
    fill: (element, value) => enter(element, value, 'insertReplacementText'),
    type: (element, value) => enter(element, value, 'insertText'),
  }

  /**
   * @param {HTMLInputElement} element
   * @param {string} value
   * @param {string} inputType
   */
  const enter = (element, value, inputType) => {
    element.focus()
    element.value = value
    element.dispatchEvent(new InputEvent('input', { bubbles: true, inputType }))
  }

  const run = async () => {
    if (steps.length > 0 && !scripts && !state.digest) await find('html[data-ready]')
    for (const [kind, selector, value] of steps) {
      if (kind === 'disconnect') disconnect()
      else acts[kind]?.(await find(selector), value)
    }
    document.documentElement.dataset.shown = ''
  }
  addEventListener('DOMContentLoaded', run)
})()
