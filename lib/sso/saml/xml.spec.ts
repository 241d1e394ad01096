import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expectNothingPrinted } from '../../../e2e/support/providers/saml-outcome'
import { SamlRejected } from './rejection'
import { parseXml, type XmlElement } from './xml'

expectNothingPrinted()

const outcomeOf = (xml: string) => {
  try {
    parseXml(xml)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof SamlRejected)) throw error
    return error.check
  }
}

test('reads names, namespaces, attributes and text', () => {
  const xml = `<?xml version='1.0' encoding='UTF-8' standalone='yes'?>
    <a:one xmlns:a="urn:a" xmlns="urn:b" x = 'a"b' a:x="&lt;&#x41;&#66;&amp;&quot;&apos;&gt;"><two>a<three
      y="1\t2\n3&#10;" />b&#x1F600;</two></a:one>`
  const three = {
    name: 'three',
    namespace: 'urn:b',
    attributes: new Map([['y', '1 2 3\n']]),
    children: [],
    text: '',
    size: '<three\n      y="1\t2\n3&#10;" />'.length,
  }
  const two = xml.slice(xml.indexOf('<two>'), xml.indexOf('</a:one>'))
  expect(parseXml(xml)).toEqual({
    name: 'one',
    namespace: 'urn:a',
    attributes: new Map([
      ['x', 'a"b'],
      ['{urn:a}x', '<AB&"\'>'],
    ]),
    children: [
      {
        name: 'two',
        namespace: 'urn:b',
        attributes: new Map(),
        children: [three],
        text: 'ab😀',
        size: two.length,
      },
    ],
    text: '',
    size: xml.length - xml.indexOf('<a:one'),
  })
})

test('accepts elements, declarations and blanks around them', () => {
  const documents = [
    '<a/>',
    ' \r\n<a/>\n',
    '<a-b.c1/>',
    '<a></a>',
    '<a xml:lang="en"/>',
    '<a xmlns:b="urn:b"><b:c/></a>',
  ]
  for (const xml of [...documents, '<?xml version="1.0"?><a/>'])
    expect(outcomeOf(xml), xml).toBe('accepted')
})

const malformed: Record<string, string[]> = {
  'texts that are not exactly one element': [
    '',
    'a',
    '<a/><b/>',
    '<a/>b',
    'b<a/>',
    '\uFEFF<a/>',
  ],
  'tags that do not match': [
    '<a>',
    '</a>',
    '<a></b>',
    '<a></A>',
    '<a></a >',
    '<a><b></a></b>',
    '< a/>',
    '<a/ >',
  ],
  'attributes without a value or without a space between them': [
    '<a b/>',
    '<a b=c/>',
    '<a b="c"d="e"/>',
    '<a b="<"/>',
  ],
  'duplicate attributes': [
    '<a b="c" b="d"/>',
    '<a xmlns:b="urn:b" xmlns:c="urn:b" b:d="" c:d=""/>',
  ],
  'duplicate namespaces': [
    '<a xmlns:b="urn:b" xmlns:b="urn:c"/>',
    '<a xmlns="urn:b" xmlns="urn:c"/>',
  ],
  'prefixes without a namespace': [
    '<a b:c="d"/>',
    '<b:a/>',
    '<a xmlns:b=""/>',
    '<a:b:c xmlns:a="urn:a"/>',
  ],
  'namespaces that need an escape': [
    '<a xmlns:b="urn:b c"/>',
    `<a xmlns:b='urn:b"'/>`,
    '<a xmlns:b="urn:&lt;"/>',
  ],
  'names that resemble a declaration': [
    '<a xmlnsb="c"/>',
    '<a XMLNS="c"/>',
    '<a xmlns:xmlnsb="urn:b" xmlnsb:c=""/>',
  ],
  'declarations of reserved prefixes': [
    '<a xmlns:xml="urn:b"/>',
    '<a xmlns:xmlns="urn:b"/>',
  ],
  'names that begin with _ or are not ASCII': [
    '<_a/>',
    '<__proto__/>',
    '<a xmlns:__proto__="urn:b"/>',
    '<ä/>',
  ],
  'unknown entities': ['<a>&b;</a>', '<a>& </a>', '<a>&#65</a>', '<a b="&c;"/>'],
  'references to characters that XML lacks': [
    '<a>&#0;</a>',
    '<a>&#x8;</a>',
    '<a>&#xD800;</a>',
    '<a>&#x110000;</a>',
  ],
  'characters that XML lacks': [
    '<a>]]></a>',
    '<a>\0</a>',
    '<a>\x08</a>',
    '<a>\uFFFE</a>',
  ],
  'other line endings': [
    '<a>\u0085</a>',
    '<a>\u2028</a>',
    '<a b="\u2029"/>',
    '<a>&#x2029;</a>',
    '<a\u0080b="c"/>',
  ],
}
for (const [what, documents] of Object.entries(malformed)) {
  test(`rejects ${what}`, () => {
    for (const xml of documents)
      expect(outcomeOf(xml), JSON.stringify(xml)).toBe('saml_malformed')
  })
}

const markup: Record<string, string[]> = {
  'a document type': ['<!DOCTYPE a><a/>', '<!doctype a><a/>', '<a><!b></a>'],
  'CDATA and comments': ['<a><![CDATA[b]]></a>', '<a><!-- b --></a>'],
  'processing instructions': [
    '<a><?b?></a>',
    '<?b?><a/>',
    '<a/><?xml version="1.0"?>',
    ' <?xml version="1.0"?><a/>',
  ],
  'other versions of XML': ['<?xml version="1.1"?><a/>', '<?xml?><a/>'],
  HTML: [
    '<a xmlns="http://www.w3.org/1999/xhtml"/>',
    '<a xmlns:b="http://www.w3.org/1999/&#120;html"/>',
  ],
}
for (const [what, documents] of Object.entries(markup)) {
  test(`rejects ${what} as forbidden markup`, () => {
    for (const xml of documents)
      expect(outcomeOf(xml), JSON.stringify(xml)).toBe('saml_markup')
  })
}

test('limits the number of characters that are replaced one at a time', () => {
  const inText = (text: string) => (count: number) => `<a>${text.repeat(count)}</a>`
  const inAttribute = (text: string) => (count: number) =>
    `<a b='${text.repeat(count)}'/>`
  for (const make of [
    ...['\n', '\r', '\r\n', '&lt;', '&#9;', '>'].map(inText),
    ...['\n', '\r', '\t', '&lt;', '"', '>'].map(inAttribute),
    (count: number) => `<a${'\n'.repeat(count)}/>`,
  ]) {
    expect([outcomeOf(make(10_000)), outcomeOf(make(10_001))]).toEqual([
      'accepted',
      'saml_too_complex',
    ])
  }
  expect(outcomeOf(`<a b="${'\t'.repeat(5_000)}">${'>'.repeat(5_001)}</a>`)).toBe(
    'saml_too_complex',
  )
  expect(outcomeOf(inText('\t" x')(30_000))).toBe('accepted')
})

test('limits the total length of names with their namespaces', () => {
  const inScope = (content: string, attributes = '') =>
    `<a${attributes} xmlns:n="${'n'.repeat(100)}">${content}</a>`
  const elements = (left: number) =>
    inScope('<n:b/>'.repeat(999), ` ${'c'.repeat(left)}=""`)
  expect([outcomeOf(elements(100)), outcomeOf(elements(101))]).toEqual([
    'accepted',
    'saml_too_complex',
  ])
  const attributes = (count: number) => inScope('<b n:c=""/>'.repeat(count)) // each name has 103 characters
  expect([outcomeOf(attributes(970)), outcomeOf(attributes(971))]).toEqual([
    'accepted',
    'saml_too_complex',
  ])
})

/** Converts the library's DOM to our form. */
function asTree(element: Element): Omit<XmlElement, 'size'> {
  const attributes = Array.from(element.attributes).filter(
    ({ namespaceURI }) => namespaceURI !== 'http://www.w3.org/2000/xmlns/',
  )
  const nodes = Array.from(element.childNodes)
  return {
    name: element.localName,
    namespace: element.namespaceURI ?? '',
    attributes: new Map(
      attributes.map(({ namespaceURI, localName, value }) => [
        namespaceURI ? `{${namespaceURI}}${localName}` : localName,
        value,
      ]),
    ),
    children: nodes
      .filter(({ nodeType }) => nodeType === 1)
      .map((node) => asTree(node as Element)) as XmlElement[],
    text: nodes
      .filter(({ nodeType }) => nodeType !== 1)
      .map(({ nodeValue }) => nodeValue)
      .join(''),
  }
}

test('reads every accepted document in the same way as the library', async () => {
  const { parseDomFromString } = await import('@node-saml/node-saml/lib/xml.js')
  const name = fc.constantFrom('a', 'B', 'p:a', 'q:b', 'x-1.y', 'script')
  const valid = fc.constantFrom(..."a \n\r\t'>ü😀]", '&lt;', '&#65;', '&#13;', '&quot;')
  const invalid = fc.constantFrom('<', '&', '\0', '&#x10;')
  const text = fc.string({
    unit: fc.oneof({ weight: 40, arbitrary: valid }, { weight: 1, arbitrary: invalid }),
  })
  const rarely = ['http://www.w3.org/XML/1998/namespace', 'http://www.w3.org/1999/xhtml']
  const value = fc.oneof(text, fc.constantFrom('urn:a', 'urn:b', ...rarely))
  const endOfTag = fc.oneof(
    { weight: 40, arbitrary: fc.constant('>') },
    { weight: 1, arbitrary: fc.constant(' >') },
  )
  const attributeName = fc.constantFrom(
    'xmlns',
    'xmlns:p',
    'xmlns:q',
    'a',
    'p:a',
    'q:a',
    'ID',
    'xml:id',
    'xmlnsa',
  )
  const attribute = fc
    .tuple(attributeName, value)
    .map(([name, value]) => ` ${name}="${value}"`)
  const { element } = fc.letrec((tie) => ({
    element: fc
      .tuple(name, fc.array(attribute, { maxLength: 4 }), tie('content'), endOfTag)
      .map(([name, attributes, content, end]) =>
        content === ''
          ? `<${name}${attributes.join('')}/>`
          : `<${name}${attributes.join('')}>${content}</${name}${end}`,
      ),
    content: fc
      .array(fc.oneof({ depthSize: 'small' }, text, tie('element')), { maxLength: 4 })
      .map((parts) => parts.join('')),
  }))
  const declared = element.map((xml) => `<r xmlns:p="urn:p" xmlns:q="urn:q">${xml}</r>`)
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(declared, async (xml) => {
      if (outcomeOf(xml) !== 'accepted') return
      accepted += 1
      const document = await parseDomFromString(xml)
      expect(parseXml(xml)).toMatchObject(asTree(document.documentElement))
    }),
    { numRuns: 1_000 },
  )
  expect(accepted).toBeGreaterThan(100) // the average is about 220
})
