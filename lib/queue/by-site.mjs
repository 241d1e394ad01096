// JavaScript, because bin/server/admission.mjs runs without a build.

/**
 * What waits, by network. Sites take turns, and so do the networks of a site: one owner may have
 * hundreds of networks, but not of sites.
 * @template Item
 */
export class BySite {
  /** The number of items. */
  size = 0
  /**
   * In the order of their turns.
   * @type {Map<string, Map<string, Set<Item>>>}
   */
  #sites = new Map()

  /**
   * @param {string} network
   * @param {Item} item
   */
  add(network, item) {
    const name = siteOf(network)
    const site = this.#sites.get(name) ?? new Map()
    const items = site.get(network) ?? new Set()
    items.add(item)
    site.set(network, items)
    this.#sites.set(name, site)
    this.size++
  }

  /**
   * @param {string} network
   * @param {Item} item
   */
  delete(network, item) {
    const name = siteOf(network)
    const site = this.#sites.get(name)
    const items = site?.get(network)
    if (!site || !items?.delete(item)) return
    this.size--
    if (items.size === 0) site.delete(network)
    if (site.size === 0) this.#sites.delete(name)
  }

  /**
   * Removes the item whose turn it is, and returns it.
   * @returns {Item | undefined}
   */
  next() {
    for (const [name, site] of this.#sites) {
      for (const [network, items] of site) {
        const [item] = items
        // behind all others
        site.delete(network)
        site.set(network, items)
        this.#sites.delete(name)
        this.#sites.set(name, site)
        this.delete(network, /** @type {Item} */ (item))
        return item
      }
    }
  }

  /**
   * Removes the newest item of the site that has the most, and returns it; undefined if another item
   * of this network would be that one. A site that has as many as any other gives way itself.
   * @param {string} network
   * @returns {Item | undefined}
   */
  makeRoom(network) {
    const own = this.#sites.get(siteOf(network))
    const crowded = mostOf(this.#sites, countOf)?.[1]
    const isElsewhere = crowded !== undefined && countOf(crowded) > countOf(own) + 1
    const [longest, items] = mostOf((isElsewhere ? crowded : own) ?? new Map(), (each) => each.size) ?? []
    if (!items || (!isElsewhere && items.size <= (own?.get(network)?.size ?? 0) + 1)) return
    const item = [...items].at(-1)
    this.delete(/** @type {string} */ (longest), /** @type {Item} */ (item))
    return item
  }
}

/**
 * The /48 of an IPv6 /64, or the /24 of an IPv4 address: what one owner may have.
 * @param {string} network
 * @returns {string}
 */
export function siteOf(network) {
  const [, ipv4] = network.match(/^(\d+\.\d+\.\d+)\./) ?? []
  return ipv4 ?? network.split(':', 3).join(':')
}

/** @param {Map<string, Set<unknown>> | undefined} site */
function countOf(site) {
  return [...(site?.values() ?? [])].reduce((sum, { size }) => sum + size, 0)
}

/**
 * Returns the entry whose value counts most, and of equals the last.
 * @template Value
 * @param {Map<string, Value>} values
 * @param {(value: Value) => number} countOf
 */
function mostOf(values, countOf) {
  /** @type {[string, Value] | undefined} */
  let most
  for (const entry of values) if (!most || countOf(entry[1]) >= countOf(most[1])) most = entry
  return most
}
