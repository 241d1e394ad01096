// @ts-check
// Inlined in the page that offers a passkey. When the user declines, stores in this browser
// when app/sign-in/passkey-offer.ts may offer one again: after a pause, but at most three
// times ever. The link can be pressed before the other scripts have loaded.
document.addEventListener(
  'click',
  ({ target }) => {
    if (!(/** @type {Element} */ (target).closest('#not-now'))) return
    const pauseMs = 30 * 24 * 60 * 60_000
    const maxOffers = 3

    try {
      const refusals = Number(localStorage.getItem('passkey-refusals')) + 1
      const next = refusals < maxOffers ? Date.now() + pauseMs : Number.MAX_SAFE_INTEGER
      localStorage.setItem('passkey-refusals', String(refusals))
      localStorage.setItem('next-passkey-offer', String(next))
    } catch {} // without a storage, the page is never offered
  },
  true,
)
