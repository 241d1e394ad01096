// Starts one function of a Vercel build as Vercel's runtime does: its handler behind a server. The arguments are its folder and its handler.
const { createServer } = require('node:http')

const [folder, handler] = process.argv.slice(2)
// what `attachDatabasePool` asks to be kept awake for
globalThis[Symbol.for('@vercel/request-context')] = { get: () => ({ waitUntil: () => {} }) }
const handle = require(`${folder}/${handler}`)
const server = createServer((request, response) => {
  request.headers['x-matched-path'] = request.url.split('?')[0] // the routing in front of the function
  request.headers['x-vercel-forwarded-for'] = request.socket.remoteAddress
  handle(request, response)
})
server.listen(0, 'localhost', () => process.send(server.address().port))
process.on('disconnect', () => process.exit())
