import { expect, test } from '../support/fixtures'
import { runScript } from '../support/servers/command'
import { startExim } from '../support/servers/exim'
import { startSmtp } from '../support/servers/smtp'

// Tests what docs/operate.md says about Exim between the app and another mail server.

const address = 'jörg@example.com'
const converted = 'xn--jrg-sna@example.com'

for (const [name, option, utf8, received] of [
  ['by default, to a server without SMTPUTF8', '', false, [converted]],
  ['with 0, to a server without SMTPUTF8', 'utf8_downconvert = 0', false, []],
  ['by default, to a server with SMTPUTF8', '', true, [address]],
  ['with 1, to a server with SMTPUTF8', 'utf8_downconvert = 1', true, [converted]],
] as const)
  test(`Exim: utf8_downconvert ${name}`, async () => {
    const smtp = await startSmtp({ utf8 })
    const exim = await startExim(new URL(smtp.settings.SMTP_URL).port, option)
    const send = (to: string) => runScript(['mail', 'test', to], '', exim.settings)
    try {
      // Exim reports success in every case
      for (const to of [address, 'ada@example.com'])
        expect(await send(to)).toMatchObject({
          code: 0,
          stdout: `The server accepted a test email to ${to}.\n`,
        })

      // Exim returns to MAIL_FROM what it can't deliver
      const returned = received.length === 0 ? ['login@example.com'] : []
      await expect
        .poll(() => smtp.recipients.toSorted())
        .toEqual([...received, ...returned, 'ada@example.com'].toSorted())
    } finally {
      await exim.stop()
      await smtp.stop()
    }
  })
