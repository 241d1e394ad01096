import * as routes from '../../lib/contract/routes'
import { newPasswordUser } from '../support/databases/password-user'
import { expect, postTo, test } from '../support/fixtures'
import { newAddress } from '../support/secrets'
import { preload } from '../support/servers/preload'
import { type Server, startServer } from '../support/servers/server'
import { startSmtp } from '../support/servers/smtp'

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const safari =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'

test('emails once a day about sign-ins from the same device and network without cookies', async ({
  sql,
}) => {
  const smtp = await startSmtp()
  const user = await newPasswordUser(sql) // no sign-in upgrades this hash meanwhile
  const live = `INSERT INTO sessions (user_id, expires_at) VALUES ($1, now() + interval '1 day')`
  await sql(live, [user.id]) // so that no sign-in is the first one

  const devices = async () => {
    const mails = await sql(
      `SELECT device FROM mails WHERE user_id = $1 AND kind = 'new-device' ORDER BY device`,
      [user.id],
    )
    return mails.map(({ device }) => device)
  }
  /** Sends all sign-ins at once. */
  const signIn = async (
    { url }: Server,
    ...signIns: [network: string, agent?: string][]
  ) => {
    const statuses = await Promise.all(
      signIns.map(async ([address, agent]) => {
        const headers = {
          'X-Forwarded-For': address,
          ...(agent && { 'User-Agent': agent }),
        }
        return (await postTo(url + routes.signIn.path, user, headers)).status
      }),
    )
    expect(new Set(statuses)).toEqual(new Set([200]))
  }
  const start = () =>
    startServer({
      PASSWORD_SIGN_IN: 'true',
      ...smtp.settings,
      ...preload('cheap-hash.mjs', 'prompt-mails.mjs'),
    })

  const [home, office, hotel] = [newAddress(), newAddress(), newAddress()]
  const neighbor = home.replace(/\d+$/, (last) => String((Number(last) + 1) % 256)) // the same /24
  const [onLinux, onPhone] = ['Firefox on Linux', 'Safari on iPhone']
  try {
    const today = await start()
    await signIn(today, [home, firefox], [home, firefox], [home, firefox])
    await expect.poll(devices).toEqual([onLinux])
    await signIn(
      today,
      [home, firefox],
      [neighbor, firefox],
      [home, safari],
      [office, firefox],
      [hotel], // a program
      [hotel],
    )
    await expect.poll(devices).toEqual([onLinux, onLinux, onPhone, null])
    await signIn(today, [hotel], [home, safari], [office, firefox])
    await today.stop() // waits until all emails are queued
    expect(await devices()).toEqual([onLinux, onLinux, onPhone, null])

    // as if a day had passed
    await sql(
      `UPDATE password_attempts SET expires_at = now() WHERE expires_at > now() + interval '1 hour'`,
    )
    await sql('DELETE FROM mails WHERE user_id = $1', [user.id])
    const tomorrow = await start()
    await signIn(tomorrow, [home, firefox], [home, firefox])
    await tomorrow.stop()
    expect(await devices()).toEqual([onLinux])
  } finally {
    await smtp.stop()
  }
})
