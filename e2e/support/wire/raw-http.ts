import { type Agent, type IncomingHttpHeaders, request } from 'node:http'

export type RawResponse = { status: number; headers: IncomingHttpHeaders; text: string }

/** Sends a request with exactly these headers. Unlike `fetch`, it also allows `Host`. */
export function send(
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
    agent = false,
  }: {
    method?: string
    headers?: Record<string, string>
    body?: string
    agent?: Agent | false
  } = {},
) {
  return new Promise<RawResponse>((resolve, reject) => {
    const sent = request(url, { method, headers, agent }, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode!, headers: response.headers, text })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
