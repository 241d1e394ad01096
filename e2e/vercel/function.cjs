// Serves one function of a Vercel build over HTTP, as Vercel's runtime does. The
// arguments are its folder and its handler.
const { createServer } = require('node:http')

const [folder, handler] = process.argv.slice(2)
// `attachDatabasePool` requires this context.
globalThis[Symbol.for('@vercel/request-context')] = {
  get: () => ({ waitUntil: () => {} }),
}
const before = process.cpuUsage()
const handle = require(`${folder}/${handler}`)
const { user, system } = process.cpuUsage(before)
const server = createServer((request, response) => {
  request.headers['x-matched-path'] = request.url.split('?')[0] // Vercel's routing sets this header
  request.headers['x-vercel-forwarded-for'] = request.socket.remoteAddress
  handle(request, response)
})
server.listen(0, 'localhost', () =>
  process.send({ port: server.address().port, loadMs: (user + system) / 1000 }),
)
process.on('disconnect', () => process.exit())
