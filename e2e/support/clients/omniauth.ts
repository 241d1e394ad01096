import { startOwnServer } from './own-server'
import type { ClientValues, RealClient } from './recipe'

/** Starts the recipe for Debian's OmniAuth and Rack. */
export function startOmniauth(values: ClientValues): Promise<RealClient> {
  const { issuer, slug, port, redirectUri } = values
  const loading = "require 'omniauth_openid_connect'"
  const listening = ['--server', 'webrick', '--host', '127.0.0.1', '--port', String(port)]
  const url = new URL('/', redirectUri).href

  return startOwnServer(
    {
      recipe: 'omniauth',
      replaced: {
        'https://login.example.com': issuer,
        'https://app.example.com/auth/login/callback': redirectUri,
        "identifier: 'app'": `identifier: '${slug}'`,
        'secure: true': 'secure: false',
        [loading]: `${loading}; SWD.url_builder = URI::HTTP`,
      },
      file: 'config.ru',
      command: (path) => ['/usr/bin/rackup', '--env', 'deployment', ...listening, path],
      begin: async (browser) => {
        const html = await (await browser.get(url)).text()
        const token = /name="authenticity_token" value="([^"]+)"/.exec(html)![1]!
        const options = { form: { authenticity_token: token }, maxRedirects: 0 }
        return (await browser.post(`${url}auth/login`, options)).headers().location!
      },
      open: async (page) => {
        await page.goto(url)
        await page.getByRole('button', { name: 'Sign in' }).click()
      },
    },
    values,
  )
}
