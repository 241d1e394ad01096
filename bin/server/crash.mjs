import { readFileSync } from 'node:fs'

/** @type {{ language: string, title: string, body: string, reload: string }[]} */
const texts = JSON.parse(readFileSync(new URL('../../lib/page/crash-texts.json', import.meta.url), 'utf8'))
const parts = texts.map(({ language, title, body, reload }, index) => {
  const heading = index === 0 ? 'h1' : 'h2'
  return `<div lang="${language}" dir="auto"><${heading}>${title}</${heading}><p>${body}</p><p><a href="">${reload}</a></p></div>`
})
const noScript = `<noscript>${parts.join('')}</noscript>`

/**
 * Adds a text for browsers without scripts to a page that fails to render: Next.js renders its error
 * page in the browser only. For before anything is written.
 */
export function addCrashText(request, response) {
  const { write, end } = response
  const isCrash = () =>
    response.statusCode === 500 &&
    request.method !== 'HEAD' &&
    String(response.getHeader('content-type')).startsWith('text/html')
  // the length without our text
  const removeLength = () => isCrash() && !response.headersSent && response.removeHeader('Content-Length')
  response.write = (...parameters) => {
    removeLength()
    return write.apply(response, parameters)
  }
  response.end = (...parameters) => {
    removeLength()
    if (!isCrash()) return end.apply(response, parameters)
    const callback = parameters.find((parameter) => typeof parameter === 'function')
    const [chunk, encoding] = parameters.filter((parameter) => parameter !== callback)
    if (chunk) response.write(chunk, encoding)
    response.write(noScript)
    return end.call(response, callback)
  }
}
