// @ts-check
// The first script of a previewed page: mocks responses and the network, and then does
// what the user would do.
;(() => {
  const script = /** @type {InlineScript} */ (document.currentScript)
  const state = JSON.parse(script.dataset.state)
  const { path, mocks = {}, scripts, steps = [] } = state
  script.remove()
  history.replaceState(null, '', path)
  mockResponses()
  cancelNavigations()
  mockStorage()
  mockFocus()
  mockPrompts()
  if (state.offline) disconnect()
  addEventListener('DOMContentLoaded', run)

  function mockResponses() {
    const realFetch = window.fetch
    window.fetch = (resource, options) => {
      const { pathname } = new URL(String(resource), location.href)
      const isFailed = pathname.startsWith('/preview/failed/')
      const mock = isFailed ? 'lost' : mocks[pathname]
      if (!mock) return realFetch(resource, options)
      if (mock === 'none') return new Promise(() => {})
      if (mock === 'lost') return Promise.reject(new TypeError('Failed to fetch'))
      const { status, headers, body } = mock
      return Promise.resolve(new Response(JSON.stringify(body), { status, headers }))
    }
  }

  // The page stays. A navigation that begins while the page loads could stop the loading.
  function cancelNavigations() {
    window.navigation?.addEventListener('navigate', (event) => {
      if (/^\/(preview\/stay|api\/)/.test(new URL(event.destination.url).pathname))
        event.preventDefault()
    })
  }

  // All pages of the preview share the real storage.
  function mockStorage() {
    const getItem = (/** @type {string} */ name) =>
      (name === 'email' && state.email) || null
    const storage = { getItem, setItem: () => {}, removeItem: () => {} }
    Object.defineProperty(window, 'sessionStorage', { value: storage })
  }

  // A page in a frame must not scroll the list. If the state has a digest, the first
  // focus throws an error with it.
  function mockFocus() {
    const { focus } = HTMLElement.prototype
    let { digest } = state
    HTMLElement.prototype.focus = function () {
      const error = digest && Object.assign(new Error('as the preview wants'), { digest })
      digest = null
      if (error) throw error
      focus.call(this, { preventScroll: top !== window })
    }
  }

  // The browser shows prompts for passkeys itself. Suggestions in fields wait forever.
  function mockPrompts() {
    const bytes = new ArrayBuffer(0)
    const created = {
      id: '',
      response: { clientDataJSON: bytes, attestationObject: bytes },
    }
    const prompt = (/** @type {CredentialRequestOptions} */ { mediation, signal }) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
        if (!state.prompt || state.prompt === 'none' || mediation) return
        if (state.prompt === 'created') resolve(created)
        else reject(new DOMException('', state.prompt))
      })
    Object.defineProperty(navigator, 'credentials', {
      value: { get: prompt, create: prompt },
    })
  }

  function disconnect() {
    Object.defineProperty(navigator, 'onLine', { value: false, configurable: true })
  }

  async function run() {
    if (steps.length > 0 && !scripts && !state.digest) await find('html[data-ready]')
    for (const [kind, selector, value] of steps) {
      if (kind === 'disconnect') disconnect()
      else act(kind, await find(selector), value)
    }
    document.documentElement.dataset.shown = ''
  }

  /** @param {string} selector */
  async function find(selector) {
    for (;;) {
      /** @type {NodeListOf<HTMLElement>} */
      const elements = document.querySelectorAll(selector)
      const found = [...elements].find((element) =>
        element.checkVisibility({ visibilityProperty: true }),
      )
      if (found) return found
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /**
   * @param {string} kind
   * @param {HTMLElement} element
   * @param {string} value
   */
  function act(kind, element, value) {
    const input = /** @type {HTMLInputElement} */ (element)
    if (kind === 'press') element.click()
    if (kind === 'fill') enter(input, value, 'insertReplacementText')
    if (kind === 'type') enter(input, value, 'insertText')
  }

  /**
   * @param {HTMLInputElement} input
   * @param {string} value
   * @param {string} inputType
   */
  function enter(input, value, inputType) {
    input.focus()
    input.value = value
    input.dispatchEvent(new InputEvent('input', { bubbles: true, inputType }))
  }
})()
