import { clockToleranceSeconds } from '../clock'
import type { Authenticated } from '../provider'
import { isNameId, readEmail } from './email'
import { ensure, type SamlCheck, SamlRejected } from './rejection'
import type { Expected } from './response'
import {
  findChildren,
  findOnlyChild,
  namespaces,
  readUri,
  trimXml,
  type XmlElement,
} from './xml'

const clockSkewMs = clockToleranceSeconds * 1000

const { assertion: saml } = namespaces

// OneTimeUse is always satisfied, because a request is claimed once. ProxyRestriction
// does not apply to us.
const conditions = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']

/**
 * Reads the identity from an assertion whose signature was verified over the same bytes.
 * Throws SamlRejected.
 */
export function readIdentity(
  assertion: XmlElement,
  expected: Expected,
  emailAttribute?: string,
): Authenticated {
  ensure(assertion.attributes.get('Version') === '2.0', 'saml_version')
  const issuer = trimXml(findOnlyChild(assertion, saml, 'Issuer', 'saml_issuer').text)
  ensure(issuer === expected.issuer, 'saml_issuer')

  const subject = findOnlyChild(assertion, saml, 'Subject', 'saml_subject')
  const { name, isEmail } = readNameId(subject, issuer)
  checkConfirmation(subject, expected)
  checkConditions(assertion, expected)
  const sessionEnd = readSessionEnd(assertion)

  // SAML does not mark unverified addresses, so the provider vouches for the addresses of
  // its domains.
  const contact = async () => ({
    email: readEmail(readAttributes(assertion), { text: name, isEmail }, emailAttribute),
    isVerified: true,
  })

  return {
    identity: { issuer, subject: name, isEmail: isEmail || isNameId(emailAttribute) },
    contact,
    account: name,
    sessionEnd,
    issuedAt: readIssuedAt(assertion),
  }
}

/** Returns undefined if the time is missing or malformed, because nothing depends on it. */
function readIssuedAt({ attributes }: XmlElement): Date | undefined {
  const time = parseTime(attributes.get('IssueInstant'))
  return Number.isNaN(time) ? undefined : new Date(time)
}

function readNameId(subject: XmlElement, issuer: string) {
  const encrypted = findChildren(subject, saml, 'EncryptedID')
  ensure(encrypted.length === 0, 'saml_encrypted_id')
  const nameId = findOnlyChild(subject, saml, 'NameID', 'saml_name_id')
  const name = trimXml(nameId.text)
  ensure(nameId.children.length === 0, 'saml_name_id')
  ensure(/^\S(?:.{0,254}\S)?$/u.test(name), 'saml_name_id')

  // A transient NameID differs at each sign-in, so it can't identify a user.
  const format = readUri(nameId, 'Format')
  ensure(
    format !== 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
    'saml_transient',
  )

  // Core 8.3.7: a persistent NameID from another provider may be equal to one from this
  // provider.
  if (format === 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent') {
    const qualifier = readUri(nameId, 'NameQualifier') || issuer
    ensure(qualifier === issuer, 'saml_name_qualifier')
  }

  const isEmail = format === 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'
  return { name, isEmail }
}

function checkConditions(assertion: XmlElement, { entityId }: Expected): void {
  // Core 2.5.1: an unsupported condition makes the assertion invalid.
  const required = findOnlyChild(assertion, saml, 'Conditions', 'saml_conditions')
  const isKnown = ({ name, namespace }: XmlElement) =>
    namespace === saml && conditions.includes(name)
  ensure(required.children.every(isKnown), 'saml_conditions')

  const start = required.attributes.get('NotBefore')
  const hasStarted = start === undefined || parseTime(start) <= Date.now() + clockSkewMs
  ensure(hasStarted, 'saml_time')
  ensure(isAhead(required.attributes.get('NotOnOrAfter')), 'saml_time')

  const restrictions = findChildren(required, saml, 'AudienceRestriction')
  ensure(restrictions.length > 0, 'saml_audience')
  ensure(
    restrictions.every((each) => allows(each, entityId)),
    'saml_audience',
  )
}

function allows(restriction: XmlElement, entityId: string): boolean {
  const isOurs = ({ text, children }: XmlElement) =>
    children.length === 0 && trimXml(text) === entityId

  return findChildren(restriction, saml, 'Audience').some(isOurs)
}

/**
 * Profiles 4.1.4.3: at least one confirmation must meet all conditions. Others may be for
 * other recipients.
 */
function checkConfirmation(subject: XmlElement, expected: Expected): void {
  const isBearer = (each: XmlElement) =>
    readUri(each, 'Method') === 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
  const bearers = findChildren(subject, saml, 'SubjectConfirmation').filter(isBearer)

  const failures = bearers.map((each) => failedCheck(each, expected))
  if (failures.includes(null)) return

  const nearest = failures.find((check) => check !== 'saml_recipient')
  throw new SamlRejected(nearest ?? failures[0] ?? 'saml_confirmation')
}

/**
 * Returns null if a confirmation is for us, responds to our request and has not expired
 * (Profiles 4.1.4.2).
 */
function failedCheck(
  confirmation: XmlElement,
  { acsUrl, requestId }: Expected,
): SamlCheck | null {
  const [data, another] = findChildren(confirmation, saml, 'SubjectConfirmationData')
  if (!data || another) return 'saml_confirmation'

  if (readUri(data, 'Recipient') !== acsUrl) return 'saml_recipient'
  if (data.attributes.get('InResponseTo') !== requestId) return 'saml_in_response_to'
  if (data.attributes.has('NotBefore')) return 'saml_not_before'
  if (!isAhead(data.attributes.get('NotOnOrAfter'))) return 'saml_not_on_or_after'

  return null
}

function readSessionEnd(assertion: XmlElement): Date | undefined {
  const statements = findChildren(assertion, saml, 'AuthnStatement')
  ensure(statements.length > 0, 'saml_authn_statement')

  const ends = statements.flatMap(
    ({ attributes }) => attributes.get('SessionNotOnOrAfter') ?? [],
  )
  ensure(ends.every(isAhead), 'saml_session_ended')

  return ends.length > 0 ? new Date(Math.min(...ends.map(parseTime))) : undefined
}

function isAhead(time: string | undefined): boolean {
  return parseTime(time) > Date.now() - clockSkewMs
}

/**
 * Parses a time. Returns NaN without a time zone, because JavaScript would assume local
 * time.
 */
function parseTime(time = ''): number {
  const hasZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(
    time,
  )
  return hasZone ? Date.parse(time) : Number.NaN
}

function readAttributes(assertion: XmlElement): [name: string, values: string[]][] {
  const statements = findChildren(assertion, saml, 'AttributeStatement')
  const attributes = statements.flatMap((each) => findChildren(each, saml, 'Attribute'))
  const readValues = (each: XmlElement) =>
    findChildren(each, saml, 'AttributeValue').map(({ text }) => text)

  return attributes.map((each) => [each.attributes.get('Name') ?? '', readValues(each)])
}
