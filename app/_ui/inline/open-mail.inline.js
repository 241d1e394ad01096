// @ts-check
// Inlined after the link to the user's mailbox. Shows it if the address is one of a
// well-known provider.
;(() => {
  const link = /** @type {HTMLAnchorElement} */ (document.getElementById('open-mail'))
  const domain = window.kept('email')?.split('@').pop()?.trim().toLowerCase() ?? ''
  const found = [
    ['Gmail', 'mail.google.com', /^(gmail|googlemail)\.com$/],
    ['Outlook', 'outlook.live.com/mail/', /^(outlook|hotmail|live|msn)\.[a-z.]+$/],
    ['Yahoo', 'mail.yahoo.com', /^(yahoo|ymail)\.[a-z.]+$/],
    ['iCloud', 'www.icloud.com/mail', /^(icloud|me|mac)\.com$/],
    ['Proton', 'mail.proton.me', /^(proton\.me|protonmail\.com|pm\.me)$/],
  ].find(([, , domains]) => /** @type {RegExp} */ (domains).test(domain))
  if (!found) return

  const [name, address] = /** @type {string[]} */ (found)
  link.textContent = link.textContent.replace('{name}', `${name}`)
  link.href = `https://${address}`
  link.hidden = false
})()
