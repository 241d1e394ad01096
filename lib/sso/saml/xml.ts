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

/**
 * Parses the part of XML that SAML needs, in linear time. Rejects what the library's
 * parser may read differently.
 */
export function parseXml(xml: string): XmlElement {
  ensure(Buffer.byteLength(xml) <= maxDocumentBytes, 'saml_too_large')
  ensure(!notXmlCharacter.test(xml), 'saml_malformed')

  const counts = {
    elements: 0,
    attributes: 0,
    expandedNames: 0,
    replacedCharacters: 0,
    prefixLists: 0,
  }

  const count = (what: keyof typeof maxima, more: number) => {
    counts[what] += more
    ensure(counts[what] <= maxima[what], 'saml_too_complex')
  }

  const countReplaced = (text: string, characters: RegExp) =>
    count('replacedCharacters', text.match(characters)?.length ?? 0)
  countReplaced(xml, /\r\n?|[\n&]/g)
  const source = xml.replace(/\r\n?/g, '\n')
  let position = 0

  const take = (token: RegExp) => {
    token.lastIndex = position
    const match = token.exec(source)
    if (match) position = token.lastIndex
    return match
  }

  const encoding = take(declaration)?.[1]
  ensure(encoding === undefined || encoding.toLowerCase() === 'utf-8', 'saml_encoding')

  const document: XmlElement = {
    name: '',
    namespace: '',
    attributes: new Map(),
    children: [],
    text: '',
    size: 0,
  }

  const root: Scope = Object.assign(Object.create(null), {
    xml: 'http://www.w3.org/XML/1998/namespace',
  })

  const open: {
    element: XmlElement
    qualifiedName: string
    scope: Scope
    startsAt: number
  }[] = [{ element: document, qualifiedName: '', scope: root, startsAt: 0 }]

  const names = new Set<string>()
  while (position < source.length) {
    const parent = open.at(-1)!
    const text = take(textToken)

    if (text) {
      countReplaced(text[0], />/g)
      parent.element.text += unescaped(text[0])
      continue
    }

    ensure(!take(otherMarkup), 'saml_markup')
    const end = take(endTag)

    if (end) {
      ensure(end[1] === parent.qualifiedName, 'saml_malformed')
      parent.element.size = position - parent.startsAt
      open.pop()
      continue
    }

    const startsAt = position
    const start = take(startOfTag)
    count('elements', 1)
    ensure(open.length <= maxDepth, 'saml_too_complex')
    const pairs: Pair[] = []

    for (let pair = take(attribute); pair; pair = take(attribute)) {
      count('attributes', 1)
      ensure(pairs.length < maxAttributesOfElement, 'saml_too_complex')
      const raw = pair[3] ?? pair[4]!
      countReplaced(raw, /[\t>"]/g)
      const value = unescaped(raw.replace(/[\t\n]/g, ' '))
      if (pair[2] === 'PrefixList') count('prefixLists', value.length)

      pairs.push({ prefix: pair[1] ?? '', name: pair[2]!, value })
    }

    const close = take(endOfTag)
    ensure(start && close, 'saml_malformed')
    const scope = innerScope(parent.scope, pairs)
    const [, prefix = '', name] = start
    const qualifiedName = prefix ? `${prefix}:${name}` : name!
    names.add(qualifiedName)
    ensure(names.size <= maxNames, 'saml_too_complex')

    const element: XmlElement = {
      name: name!,
      namespace: namespaceOf(prefix, scope),
      attributes: attributesOf(pairs, scope),
      children: [],
      text: '',
      size: position - startsAt,
    }

    for (const expanded of [element.namespace, ...element.attributes.keys()])
      count('expandedNames', expanded.length)
    parent.element.children.push(element)
    if (!close[1]) open.push({ element, qualifiedName, scope, startsAt })
  }

  ensure(
    open.length === 1 &&
      document.children.length === 1 &&
      /^[ \t\n]*$/.test(document.text),
    'saml_malformed',
  )

  return document.children[0]!
}

type Pair = { prefix: string; name: string; value: string }

const isDeclaration = ({ prefix, name }: Pair) =>
  prefix === 'xmlns' || (prefix === '' && name === 'xmlns')

function innerScope(outer: Scope, pairs: Pair[]): Scope {
  const declarations = pairs.filter(isDeclaration)
  if (declarations.length === 0) return outer

  const scope: Scope = Object.create(outer)
  for (const { prefix, name, value } of declarations) {
    const declared = prefix ? name : ''
    ensure(value.length <= maxNamespaceLength, 'saml_too_complex')

    // The library reads some HTML elements as text. For each one, it copies the document
    // up to this element.
    ensure(value !== 'http://www.w3.org/1999/xhtml', 'saml_markup')

    ensure(
      namespaceName.test(value) &&
        !/^xml/i.test(declared) &&
        !Object.hasOwn(scope, declared),
      'saml_malformed',
    )

    scope[declared] = value
  }

  return scope
}

function namespaceOf(prefix: string, scope: Scope): string {
  const namespace = scope[prefix]
  ensure(namespace !== undefined || prefix === '', 'saml_malformed')
  return namespace ?? ''
}

function attributesOf(pairs: Pair[], scope: Scope): Map<string, string> {
  const attributes = new Map<string, string>()
  for (const pair of pairs.filter((pair) => !isDeclaration(pair))) {
    // The library's signature check ignores all attributes whose names begin with xmlns.
    ensure(!/^xmlns/i.test(pair.prefix || pair.name), 'saml_malformed')
    const name = pair.prefix
      ? `{${namespaceOf(pair.prefix, scope)}}${pair.name}`
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

function unescaped(text: string): string {
  return text.replace(
    /&(?:(lt|gt|amp|quot|apos)|#(\d{1,7})|#x([\da-fA-F]{1,6}));|&|]]>/g,
    (_, name, decimal, hex) => {
      if (name) return entities[name]!

      const code = Number.parseInt(decimal ?? hex, decimal ? 10 : 16)
      ensure(
        code <= 0x10ffff && !notXmlCharacter.test(String.fromCodePoint(code)),
        'saml_malformed',
      )
      return String.fromCodePoint(code)
    },
  )
}

/**
 * Returns a text without XML white space at its ends. Does not remove other spaces, which
 * may be part of a name.
 */
export function trimmed(text: string): string {
  return /[^ \t\n\r](?:.*[^ \t\n\r])?/s.exec(text)?.[0] ?? ''
}

/**
 * Returns a URI in an attribute, without white space at its ends, which has no meaning
 * (XML Schema, anyURI).
 */
export function uriIn(
  { attributes }: Pick<XmlElement, 'attributes'>,
  name: string,
): string | undefined {
  const uri = attributes.get(name)
  return uri === undefined ? undefined : trimmed(uri)
}

/** Returns the children with a name in a namespace. */
export function childrenOf<
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
export function onlyChild(
  element: XmlElement,
  namespace: string,
  name: string,
  check: SamlCheck,
): XmlElement {
  const [child, another] = childrenOf(element, namespace, name)
  ensure(child && !another, check)
  return child
}

/** Returns an element and all its descendants, in document order. */
export function elementsIn<Element extends { children: Element[] }>(
  element: Element,
): Element[] {
  return [element, ...element.children.flatMap(elementsIn)]
}
