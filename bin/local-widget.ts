import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import { firstFreePort, project } from './local'

const slug = 'demo'

/**
 * Starts the example widget, and two pages of customers that embed it: one of an approved origin, and one
 * of another. Returns their URLs.
 */
export async function startLocalWidget(): Promise<{ approved: string; rejected: string }> {
  const { addWidget, listWidgets, removeWidget } = await import('../lib/widget/manage')
  const widgetUrl = await startWidgetServer()
  let script = ''
  const html = (origin: string) => `<!doctype html><meta charset="utf-8"><title>A customer</title>
<h1>A page of a customer</h1><p>Its origin is ${origin}. The widget:</p>${script}`
  const [approved, rejected] = [await startSite(4_210, html), await startSite(4_220, html)]
  for (const widget of await listWidgets(slug)) await removeWidget(widget)
  const token = await addWidget(slug, 'The example', [approved])
  script = `<script src="${widgetUrl}/widget.js" data-login="${process.env.PUBLIC_URL}" data-token="${token}" async></script>`
  return { approved, rejected }
}

async function startWidgetServer(): Promise<string> {
  const port = await firstFreePort(4_200)
  const server = spawn(process.execPath, [`${project}examples/widget/server.js`], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PORT: String(port), HOST: '127.0.0.1', LOGIN_URL: process.env.PUBLIC_URL },
  })
  process.once('exit', () => server.kill())
  return `http://127.0.0.1:${port}`
}

async function startSite(preferredPort: number, html: (origin: string) => string): Promise<string> {
  const port = await firstFreePort(preferredPort)
  const origin = `http://127.0.0.1:${port}`
  const server: Server = createServer((_, response) =>
    response.setHeader('Content-Type', 'text/html; charset=utf-8').end(html(origin)),
  )
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  server.unref()
  return origin
}
