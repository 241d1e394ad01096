// @ts-check
// Inlined in the screen that leads to an identity provider. A form can't redirect there,
// because the CSP `form-action 'self'` applies to redirects too. `replace` makes the Back
// button skip this screen.
const link = /** @type {HTMLAnchorElement} */ (document.getElementById('continue'))
location.replace(link.href)
