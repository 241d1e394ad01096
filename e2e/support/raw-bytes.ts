import { connect } from 'node:net'

/**
 * Sends raw bytes part by part, and returns everything that is received until the connection is
 * closed. Closes the connection shortly after a keep-alive response.
 */
export function sendBytes(url: string, ...parts: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), 'localhost')
    let response = ''
    socket.on('data', (chunk) => {
      response += chunk
      if (response.includes('\r\n\r\n') && !/connection: close/i.test(response)) setTimeout(() => socket.end(), 200)
    })
    socket.on('error', () => {}) // the server may close the connection while we are sending
    socket.on('close', () => resolve(response))
    for (const part of parts) socket.write(part)
  })
}
