import { connect } from 'node:net'

/** Sends bytes as they are, part by part, and answers what comes back until the connection ends; ends it itself soon after an answer that leaves it open. */
export function sendBytes(url: string, ...parts: string[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), 'localhost')
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk
      if (answer.includes('\r\n\r\n') && !/connection: close/i.test(answer)) setTimeout(() => socket.end(), 200)
    })
    socket.on('error', () => {}) // the server may close while we still send
    socket.on('close', () => resolve(answer))
    for (const part of parts) socket.write(part)
  })
}
