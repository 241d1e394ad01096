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
  const { end } = response
  response.end = (...parameters) => {
    const isHtml = String(response.getHeader('content-type')).startsWith('text/html')
    if (response.statusCode !== 500 || !isHtml || request.method === 'HEAD') return end.apply(response, parameters)
    const callback = parameters.find((parameter) => typeof parameter === 'function')
    const [chunk, encoding] = parameters.filter((parameter) => parameter !== callback)
    if (chunk) response.write(chunk, encoding)
    response.write(noScript)
    return end.call(response, callback)
  }
}
