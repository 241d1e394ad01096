// @ts-check
// The script of the page /setup. It is the only one that sees the secret of a setup link.
;(() => {
  const root = /** @type {HTMLElement} */ (document.querySelector('#setup'))
  const status = /** @type {HTMLElement} */ (document.querySelector('#status'))
  const notesKey = 'setup-notes'
  const maxFileBytes = 256 * 1024

  /** @param {string} text */
  const show = (text) => {
    status.textContent = text
    status.hidden = text === ''
    if (text) status.scrollIntoView({ block: 'nearest' })
  }

  /**
   * Sends JSON. Returns the body of the response, or null after showing the error.
   * @param {string} path
   * @param {object} body
   */
  const post = async (path, body) => {
    show('')
    try {
      const response = await fetch(path, {
        method: 'POST',
        credentials: 'same-origin',
        cache: 'no-store',
        redirect: 'error',
        headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      const answer = await response.json()
      if (response.ok) return answer

      show(answer.issues?.[0]?.message ?? answer.message)
    } catch {
      show('There was no response. Check your connection, then try again.')
    }
    return null
  }

  const openLink = async () => {
    const secret = location.hash.slice(1)
    if (secret === '') return

    // so that the secret is in no history
    history.replaceState(null, '', location.pathname)
    show('Opening your link …')
    if (await post(root.dataset.open ?? '', { secret })) location.reload()
  }

  /**
   * @param {Blob} file
   * @returns {Promise<string>}
   */
  const toBase64 = (file) =>
    new Promise((resolve, reject) => {
      const reader = new FileReader()
      reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,?/, ''))
      reader.onerror = () => reject(reader.error)
      reader.readAsDataURL(file)
    })

  /** @param {HTMLFormElement} form */
  const readFields = async (form) => {
    const fields = new FormData(form)
    if (form.dataset.protocol !== 'saml')
      return { protocol: 'oidc', ...Object.fromEntries(fields) }

    const file = fields.get('file')
    const text = String(fields.get('text') ?? '')
    const chosen = file instanceof File && file.size > 0 ? file : new Blob([text])
    if (chosen.size > maxFileBytes) {
      show('This file is too large: it has more than 256 KiB.')
      return null
    }
    return { protocol: 'saml', metadata: await toBase64(chosen) }
  }

  /** @param {HTMLFormElement} form */
  const send = async (form) => {
    const button = /** @type {HTMLButtonElement} */ (form.querySelector('button'))
    if (button.getAttribute('aria-disabled') === 'true') return

    button.setAttribute('aria-disabled', 'true')
    button.before(status) // an error is shown next to what was pressed
    const body = form.dataset.protocol ? await readFields(form) : {}
    const answer = body && (await post(form.dataset.path ?? '', body))
    button.removeAttribute('aria-disabled')
    if (!answer) return

    if (form.dataset.protocol)
      sessionStorage.setItem(notesKey, ['Saved.', ...answer.notes].join('\n'))
    location.reload()
  }

  const showNotes = () => {
    show(sessionStorage.getItem(notesKey) ?? '')
    sessionStorage.removeItem(notesKey)
  }

  for (const form of document.querySelectorAll('form')) {
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void send(form)
    })
    const button = form.querySelector('button')
    if (button) button.disabled = false
  }

  // the result of the test, which opens in another tab
  let hasBegunTest = false
  document.querySelector('#test')?.addEventListener('click', () => {
    hasBegunTest = true
  })
  document.addEventListener('visibilitychange', () => {
    if (hasBegunTest && document.visibilityState === 'visible') location.reload()
  })

  addEventListener('hashchange', () => void openLink())
  showNotes()
  void openLink()
})()
