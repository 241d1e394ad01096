// Limits how much of the forms for SAML connections is in memory until they get their responses.

import { siteOf } from '../../lib/queue/by-site.mjs'

const bytesPerSite = 5 * 1024 * 1024 // 14 of the largest, 300 ordinary ones
const bytesOfAll = 6 * bytesPerSite

/** @typedef {{ bytes: number, forms: Map<import('node:http').ServerResponse, number> }} Site the bytes of each form */

export class LargeForms {
  #report
  #bytes = 0
  /** @type {Map<string, Site>} */
  #sites = new Map()

  /** @param {(reason: string) => void} report gets the reason for each connection that this closes */
  constructor(report) {
    this.#report = report
  }

  /**
   * Counts the bytes of a form as they arrive. If those of its site or of all are too many, closes the
   * connections of the newest forms: of its site, or of the one that has the most bytes.
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   * @param {string} network
   */
  count(request, response, network) {
    const name = siteOf(network)
    this.#add(name, response, request.readableLength) // what came behind an earlier request
    const push = request.push.bind(request)
    request.push = (chunk) => {
      if (chunk) this.#add(name, response, chunk.length)
      return push(chunk)
    }
    response.once('close', () => {
      request.push = push // what still arrives is not kept
      this.#delete(name, response)
    })
  }

  #add(name, response, bytes) {
    const site = this.#sites.get(name) ?? { bytes: 0, forms: new Map() }
    this.#sites.set(name, site)
    site.forms.set(response, (site.forms.get(response) ?? 0) + bytes)
    site.bytes += bytes
    this.#bytes += bytes
    while (site.bytes > bytesPerSite) this.#closeNewest(name)
    while (this.#bytes > bytesOfAll) this.#closeNewest(this.#fullest)
  }

  #delete(name, response) {
    const site = this.#sites.get(name)
    const bytes = site?.forms.get(response) ?? 0
    if (!site?.forms.delete(response)) return
    site.bytes -= bytes
    this.#bytes -= bytes
    if (site.forms.size === 0) this.#sites.delete(name)
  }

  #closeNewest(name) {
    const response = [...this.#sites.get(name).forms.keys()].at(-1)
    this.#delete(name, response)
    this.#report('the forms for SAML connections took too much memory')
    response.socket?.destroy()
  }

  get #fullest() {
    const [[name]] = [...this.#sites].toSorted(([, a], [, b]) => b.bytes - a.bytes)
    return name
  }
}
