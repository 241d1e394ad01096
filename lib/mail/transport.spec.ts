import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { env } from '../settings/env'
import { MailError, sendMail } from './transport'

/** The replies of a mail server, by the command that they answer. */
type Replies = Partial<
  Record<'greeting' | 'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA', string>
>

const usual = {
  greeting: '220 mx.example.com',
  EHLO: '250-mx.example.com\r\n250 AUTH PLAIN',
  AUTH: '235 2.7.0 Accepted',
  MAIL: '250 2.1.0 Ok',
  RCPT: '250 2.1.5 Ok',
  DATA: '354 Go ahead',
}

/** Sends an email through a server with these replies. Returns the verdict of the error. */
async function verdictOf(replies: Replies): Promise<string> {
  const reply = { ...usual, ...replies }
  const server = createServer((socket) => respond(socket, reply))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const { SMTP_URL, MAIL_FROM } = env()
  Object.assign(env(), {
    SMTP_URL: `smtp://user:password@127.0.0.1:${port}`,
    MAIL_FROM: 'login@example.com',
  })

  try {
    await sendMail('ada@example.com', async () => ({ text: 'any' }))
    return 'sent'
  } catch (error) {
    return error instanceof MailError ? error.verdict : String(error)
  } finally {
    Object.assign(env(), { SMTP_URL, MAIL_FROM })
    server.close()
  }
}

function respond(socket: Socket, reply: typeof usual): void {
  socket.on('error', () => {})
  const send = (line: string) => {
    socket.write(`${line}\r\n`)
    if (line.startsWith('421')) socket.end()
  }
  let isContent = false

  send(reply.greeting)
  socket.on('data', (chunk) => {
    const text = chunk.toString()
    if (isContent) return text.endsWith('\r\n.\r\n') && send('250 2.0.0 Queued')

    const command = text.slice(0, 4) as keyof typeof usual
    isContent = command === 'DATA' && reply.DATA.startsWith('354')
    send(reply[command] ?? '250 Ok')
  })
}

test('an email is sent over a connection of its own', async () => {
  expect(await verdictOf({})).toBe('sent')
})

// as several mail servers and providers reply
test.each<[verdict: string, replies: Replies]>([
  ['busy', { greeting: '421 4.7.0 mx.example.com Error: too many connections' }],
  ['busy', { greeting: '450 4.3.2 Too many concurrent SMTP connections' }],
  ['busy', { EHLO: '421 4.7.0 Try again later, closing connection. (EHLO)' }],
  ['busy', { AUTH: '454 4.7.0 Too many login attempts, please try again later.' }],
  ['busy', { AUTH: '432 4.3.2 Concurrent connections limit exceeded' }],
  ['busy', { MAIL: '421 Too many concurrent SMTP connections' }],
  ['busy', { MAIL: '452 4.3.1 Insufficient system storage' }],
  ['temporary', { RCPT: '450 4.2.0 Greylisted' }],
  ['temporary', { DATA: '451 4.3.0 Error: queue file write error' }],
  ['rejected', { RCPT: '550 5.1.1 User unknown' }],
  ['rejected', { DATA: '554 5.7.1 Spam' }],
  ['ours', { greeting: '554 5.7.1 Your address is blocked' }],
  ['ours', { AUTH: '535 5.7.8 Authentication failed' }],
  ['ours', { MAIL: '553 5.7.1 Sender address rejected' }],
])('is %s if the server replies %o', async (verdict, replies) => {
  expect(await verdictOf(replies)).toBe(verdict)
})
