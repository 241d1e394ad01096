import { connect, type Socket } from 'node:net'
import { exchangeSsoCode } from '../../../lib/contract/routes'

/**
 * Sends raw bytes part by part, and returns everything that is received until the
 * connection is closed. Closes the connection shortly after a keep-alive response.
 */
export function sendBytes(url: string, ...parts: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), 'localhost')
    let response = ''
    socket.on('data', (chunk) => {
      response += chunk
      if (response.includes('\r\n\r\n') && !/connection: close/i.test(response))
        setTimeout(() => socket.end(), 200)
    })
    socket.on('error', () => {}) // the server may close the connection while we are sending
    socket.on('close', () => resolve(response))
    for (const part of parts) socket.write(part)
  })
}

/**
 * Opens a connection and sends bytes. `received` returns what the server has sent so far.
 */
export function open(url: string, sent = ''): { socket: Socket; received: () => string } {
  let text = ''
  const socket = connect(Number(new URL(url).port), 'localhost')
  socket.on('error', () => {}) // the server may close it at any time
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.write(sent)
  return { socket, received: () => text }
}

/**
 * The head of an exchange request whose body never arrives. The request stays in progress
 * for up to ten seconds.
 */
export const slowExchange = (address: string, length = 20) =>
  `POST ${exchangeSsoCode.path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{`
