// Inlined in the screen that leads to an identity provider. A form can't redirect there, because the policy
// `form-action 'self'` covers redirects. replace, so that Back skips this screen.
location.replace(document.getElementById('continue').href)
