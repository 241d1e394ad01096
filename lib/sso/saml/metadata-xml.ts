import { SaxesParser } from 'saxes'
import type { XmlElement } from './xml'

/** An element of a metadata file. The keys of `attributes` contain the prefixes. */
export type MetadataElement = Omit<XmlElement, 'children' | 'size'> & {
  children: MetadataElement[]
}

const maxDepth = 25

/** Why a file can't be read. `markup`: it has XML that metadata doesn't need. */
export class UnreadableXml extends Error {
  constructor(readonly reason: 'malformed' | 'markup' | 'depth') {
    super(reason)
  }
}

/**
 * Parses a metadata file in linear time, which the parser takes as long as the depth is
 * limited. Throws UnreadableXml.
 */
export function parseMetadataXml(xml: string): MetadataElement {
  const document = createElement('', '')
  const open = [document]
  const fail = (reason: UnreadableXml['reason']) => {
    throw new UnreadableXml(reason)
  }

  // It knows only the five entities of XML, and reports all others as errors.
  const parser = new SaxesParser({ xmlns: true, position: false })
  parser.on('error', () => fail('malformed'))
  parser.on('doctype', () => fail('markup'))
  parser.on('cdata', () => fail('markup'))
  parser.on('processinginstruction', () => {
    if (open.length > 1) fail('markup')
  })

  parser.on('opentag', ({ local, uri, attributes }) => {
    if (open.length > maxDepth) fail('depth')
    const element = createElement(local, uri)
    for (const { name, value } of Object.values(attributes))
      element.attributes.set(name, value)
    open.at(-1)!.children.push(element)
    open.push(element)
  })

  parser.on('text', (text) => {
    open.at(-1)!.text += text
  })
  parser.on('closetag', () => {
    open.pop()
  })
  parser.write(xml).close()

  return document.children[0]!
}

function createElement(name: string, namespace: string): MetadataElement {
  return { name, namespace, attributes: new Map(), children: [], text: '' }
}
