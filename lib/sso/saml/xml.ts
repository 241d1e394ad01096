import { ensure, type SamlCheck } from './rejection'

export const namespaces = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
}

/**
 * An element. `name` is its local name. `text` is its own text, without the text of its
 * children.
 */
export type XmlElement = {
  name: string
  namespace: string
  // by name, or `{namespace}name` if prefixed. Without namespace declarations
  attributes: Map<string, string>
  children: XmlElement[]
  text: string
  size: number // characters from its start tag to its end tag
}

export const maxDocumentBytes = 256 * 1024
const maxima = {
  // Limited, because the library visits all elements and attributes dozens of times.
  elements: 1_000,
  attributes: 3_000,
  // In characters: the library copies namespaces at each level of canonical XML. A user
  // in 450 groups needs 40,000.
  expandedNames: 100_000,
  // The library replaces line ends one by one in each step. 256 KiB in lines of 64
  // characters have 4,000 line ends.
  replacedCharacters: 10_000,
  // their total length: the library searches the lists for each attribute with a prefix
  prefixLists: 1_000,
}
// The library searches the document once per name. Genuine documents have about 30.
const maxNames = 100
const maxAttributesOfElement = 32 // some steps of the library take quadratic time
const maxDepth = 25
const maxNamespaceLength = 256

const space = '[ \\t\\n]'
// The library uses names as keys of objects, so no leading underscore and no
// hasOwnProperty. ASCII only.
const name = '(?!hasOwnProperty\\b)[A-Za-z][\\w.-]*'
const declaration = new RegExp(
  `<\\?xml${space}+version=["']1\\.0["'](?:${space}+encoding=["']([\\w-]*)["'])?(?:${space}+standalone=["'](?:yes|no)["'])?${space}*\\?>`,
  'y',
)
const textToken = /[^<]+/y
const otherMarkup = /<[!?]/y
const startOfTag = new RegExp(`<(?:(${name}):)?(${name})`, 'y')
const attribute = new RegExp(
  `${space}+(?:(${name}):)?(${name})${space}*=${space}*(?:"([^"<]*)"|'([^'<]*)')`,
  'y',
)
const endOfTag = new RegExp(`${space}*(/?)>`, 'y')
const endTag = new RegExp(`</((?:${name}:)?${name})>`, 'y') // the library expects no spaces in end tags
// Includes Unicode line ends. The library reads U+0085 and U+2028 as \n, and takes
// quadratic time for U+2029.
const notXmlCharacter =
  /[^\t\n\r\x20-\x84\x86-\u2027\u202A-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u
// The library writes namespaces into canonical XML without escaping them.
const namespaceName = /^[^\s"'<>&]+$/

/**
 * The namespace of each prefix in scope. Its prototype is the scope of the parent
 * element.
 */
type Scope = Record<string, string>

type OpenElement = {
  element: XmlElement
  qualifiedName: string
  scope: Scope
  startsAt: number
}

/**
 * Parses the part of XML that SAML needs, in linear time. Rejects what the library's
 * parser may read differently.
 */
export function parseXml(xml: string): XmlElement {
  ensure(Buffer.byteLength(xml) <= maxDocumentBytes, 'saml_too_large')
  ensure(!notXmlCharacter.test(xml), 'saml_malformed')

  const reader = new Reader(xml)
  const encoding = reader.take(declaration)?.[1]
  ensure(encoding === undefined || encoding.toLowerCase() === 'utf-8', 'saml_encoding')

  const document = createDocument()
  const open: OpenElement[] = [document]

  while (!reader.isAtEnd) {
    const parent = open.at(-1)!
    const text = reader.take(textToken)

    if (text) {
      reader.countReplaced(text[0], />/g)
      parent.element.text += decodeEntities(text[0])
      continue
    }

    ensure(!reader.take(otherMarkup), 'saml_markup')
    const end = reader.take(endTag)

    if (end) {
      ensure(end[1] === parent.qualifiedName, 'saml_malformed')
      parent.element.size = reader.position - parent.startsAt
      open.pop()
      continue
    }

    reader.count('elements', 1)
    ensure(open.length <= maxDepth, 'saml_too_complex')
    const { isEmpty, ...child } = readStartTag(reader, parent.scope)
    parent.element.children.push(child.element)
    if (!isEmpty) open.push(child)
  }

  const [root, another] = document.element.children
  ensure(open.length === 1 && root && !another, 'saml_malformed')
  ensure(/^[ \t\n]*$/.test(document.element.text), 'saml_malformed')

  return root
}

/** Reads tokens from a document, and counts what takes the library time. */
class Reader {
  position = 0
  readonly #source: string
  readonly #names = new Set<string>()
  readonly #counts = {
    elements: 0,
    attributes: 0,
    expandedNames: 0,
    replacedCharacters: 0,
    prefixLists: 0,
  }

  constructor(xml: string) {
    this.countReplaced(xml, /\r\n?|[\n&]/g)
    this.#source = xml.replace(/\r\n?/g, '\n')
  }

  get isAtEnd(): boolean {
    return this.position >= this.#source.length
  }

  /** Reads a token at the position, and moves after it. Null if there is no such token. */
  take(token: RegExp): RegExpExecArray | null {
    token.lastIndex = this.position
    const match = token.exec(this.#source)
    if (match) this.position = token.lastIndex
    return match
  }

  count(what: keyof typeof maxima, more: number): void {
    this.#counts[what] += more
    ensure(this.#counts[what] <= maxima[what], 'saml_too_complex')
  }

  countReplaced(text: string, characters: RegExp): void {
    this.count('replacedCharacters', text.match(characters)?.length ?? 0)
  }

  countName(qualifiedName: string): void {
    this.#names.add(qualifiedName)
    ensure(this.#names.size <= maxNames, 'saml_too_complex')
  }
}

/** Returns the parent of the root element. */
function createDocument(): OpenElement {
  const scope: Scope = Object.assign(Object.create(null), {
    xml: 'http://www.w3.org/XML/1998/namespace',
  })

  const element: XmlElement = {
    name: '',
    namespace: '',
    attributes: new Map(),
    children: [],
    text: '',
    size: 0,
  }

  return { element, qualifiedName: '', scope, startsAt: 0 }
}

function readStartTag(reader: Reader, outer: Scope): OpenElement & { isEmpty: boolean } {
  const startsAt = reader.position
  const start = reader.take(startOfTag)
  const pairs = readAttributes(reader)
  const close = reader.take(endOfTag)
  ensure(start && close, 'saml_malformed')

  const scope = extendScope(outer, pairs)
  const [, prefix = '', name] = start
  const qualifiedName = prefix ? `${prefix}:${name}` : name!
  reader.countName(qualifiedName)

  const element: XmlElement = {
    name: name!,
    namespace: findNamespace(prefix, scope),
    attributes: expandAttributes(pairs, scope),
    children: [],
    text: '',
    size: reader.position - startsAt,
  }

  for (const expanded of [element.namespace, ...element.attributes.keys()])
    reader.count('expandedNames', expanded.length)

  return { element, qualifiedName, scope, startsAt, isEmpty: close[1] === '/' }
}

function readAttributes(reader: Reader): Pair[] {
  const pairs: Pair[] = []

  for (let match = reader.take(attribute); match; match = reader.take(attribute)) {
    reader.count('attributes', 1)
    ensure(pairs.length < maxAttributesOfElement, 'saml_too_complex')

    const [, prefix = '', name, inDoubleQuotes, inSingleQuotes] = match
    const raw = inDoubleQuotes ?? inSingleQuotes!
    reader.countReplaced(raw, /[\t>"]/g)
    const value = decodeEntities(raw.replace(/[\t\n]/g, ' '))
    if (name === 'PrefixList') reader.count('prefixLists', value.length)

    pairs.push({ prefix, name: name!, value })
  }

  return pairs
}

type Pair = { prefix: string; name: string; value: string }

const isDeclaration = ({ prefix, name }: Pair) =>
  prefix === 'xmlns' || (prefix === '' && name === 'xmlns')

function extendScope(outer: Scope, pairs: Pair[]): Scope {
  const declarations = pairs.filter(isDeclaration)
  if (declarations.length === 0) return outer

  const scope: Scope = Object.create(outer)

  for (const { prefix, name, value } of declarations) {
    const declared = prefix ? name : ''
    ensure(value.length <= maxNamespaceLength, 'saml_too_complex')

    // The library reads some HTML elements as text. For each one, it copies the document
    // up to this element.
    ensure(value !== 'http://www.w3.org/1999/xhtml', 'saml_markup')

    ensure(namespaceName.test(value), 'saml_malformed')
    ensure(!/^xml/i.test(declared), 'saml_malformed')
    ensure(!Object.hasOwn(scope, declared), 'saml_malformed')

    scope[declared] = value
  }

  return scope
}

function findNamespace(prefix: string, scope: Scope): string {
  const namespace = scope[prefix]
  ensure(namespace !== undefined || prefix === '', 'saml_malformed')
  return namespace ?? ''
}

function expandAttributes(pairs: Pair[], scope: Scope): Map<string, string> {
  const attributes = new Map<string, string>()

  for (const pair of pairs.filter((pair) => !isDeclaration(pair))) {
    // The library's signature check ignores all attributes whose names begin with xmlns.
    ensure(!/^xmlns/i.test(pair.prefix || pair.name), 'saml_malformed')
    const name = pair.prefix
      ? `{${findNamespace(pair.prefix, scope)}}${pair.name}`
      : pair.name
    ensure(!attributes.has(name), 'saml_malformed')
    attributes.set(name, pair.value)
  }

  return attributes
}

const entities: Record<string, string> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
}

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([\da-fA-F]{1,6}));|&|]]>/g,
    (_, name, decimal, hex) => {
      if (name) return entities[name]!

      const code = Number.parseInt(decimal ?? hex, decimal ? 10 : 16)
      ensure(code <= 0x10ffff, 'saml_malformed')
      const character = String.fromCodePoint(code)
      ensure(!notXmlCharacter.test(character), 'saml_malformed')

      return character
    },
  )
}

/**
 * Returns a text without XML white space at its ends. Does not remove other spaces, which
 * may be part of a name.
 */
export function trimXml(text: string): string {
  return /[^ \t\n\r](?:.*[^ \t\n\r])?/s.exec(text)?.[0] ?? ''
}

/**
 * Returns a URI in an attribute, without white space at its ends, which has no meaning
 * (XML Schema, anyURI).
 */
export function readUri(
  { attributes }: Pick<XmlElement, 'attributes'>,
  name: string,
): string | undefined {
  const uri = attributes.get(name)
  return uri === undefined ? undefined : trimXml(uri)
}

/** Returns the children with a name in a namespace. */
export function findChildren<
  Element extends Pick<XmlElement, 'name' | 'namespace'> & { children: Element[] },
>(element: Element, namespace: string, name: string): Element[] {
  return element.children.filter(
    (child) => child.name === name && child.namespace === namespace,
  )
}

/**
 * Returns the only child with a name in a namespace. Fails the check if there is none, or
 * more than one.
 */
export function findOnlyChild(
  element: XmlElement,
  namespace: string,
  name: string,
  check: SamlCheck,
): XmlElement {
  const [child, another] = findChildren(element, namespace, name)
  ensure(child && !another, check)
  return child
}

/** Returns an element and all its descendants, in document order. */
export function listElements<Element extends { children: Element[] }>(
  element: Element,
): Element[] {
  return [element, ...element.children.flatMap(listElements)]
}
