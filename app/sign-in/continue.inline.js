// Inlined in the screen that leads to an identity provider. A form's response can't: the policy
// `form-action 'self'` covers its redirects. replace, so that Back skips this screen.
location.replace(document.getElementById('continue').href)
