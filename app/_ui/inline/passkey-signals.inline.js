// @ts-check
// Inlined in the account page. Tells the password manager of the browser the name of the
// user and, after a removal, which passkeys are left. An empty list would delete them all,
// so the server never sends one.
;(() => {
  const { state } = /** @type {InlineScript} */ (document.currentScript).dataset
  const { rpId, userId, name, credentialIds } = JSON.parse(state)
  const browser = window.PublicKeyCredential
  const ignore = () => {} // the browser does not have to support it

  browser
    ?.signalCurrentUserDetails?.({ rpId, userId, name, displayName: name })
    .catch(ignore)
  if (credentialIds)
    browser
      ?.signalAllAcceptedCredentials?.({
        rpId,
        userId,
        allAcceptedCredentialIds: credentialIds,
      })
      .catch(ignore)
})()
