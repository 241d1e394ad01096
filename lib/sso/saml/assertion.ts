import type { Authenticated } from '../provider'
import { emailOf, isNameId } from './email'
import { ensure, type SamlCheck, SamlRejected } from './rejection'
import type { Expected } from './response'
import { childrenOf, namespaces, onlyChild, trimmed, uriIn, type XmlElement } from './xml'

const clockSkewMs = 60_000 // allowed between our clock and the provider's clock

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
  const issuer = trimmed(onlyChild(assertion, saml, 'Issuer', 'saml_issuer').text)
  ensure(issuer === expected.issuer, 'saml_issuer')
  const subject = onlyChild(assertion, saml, 'Subject', 'saml_subject')
  const nameId = onlyChild(subject, saml, 'NameID', 'saml_name_id')
  const name = trimmed(nameId.text)
  ensure(
    nameId.children.length === 0 && /^\S(?:.{0,254}\S)?$/u.test(name),
    'saml_name_id',
  )

  // A transient NameID differs at each sign-in, so it can't identify a user.
  const format = uriIn(nameId, 'Format')
  ensure(
    format !== 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
    'saml_transient',
  )

  // Core 8.3.7: a persistent NameID from another provider may be equal to one from this
  // provider.
  const isPersistent = format === 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'
  ensure(
    !isPersistent || (uriIn(nameId, 'NameQualifier') || issuer) === issuer,
    'saml_name_qualifier',
  )

  checkConfirmation(subject, expected)

  // Core 2.5.1: an unsupported condition makes the assertion invalid.
  const required = onlyChild(assertion, saml, 'Conditions', 'saml_conditions')
  const isKnown = ({ name, namespace }: XmlElement) =>
    namespace === saml && conditions.includes(name)
  ensure(required.children.every(isKnown), 'saml_conditions')
  const [start, end] = ['NotBefore', 'NotOnOrAfter'].map((name) =>
    required.attributes.get(name),
  )
  ensure(
    (start === undefined || timeOf(start) <= Date.now() + clockSkewMs) && isAhead(end),
    'saml_time',
  )

  const restrictions = childrenOf(required, saml, 'AudienceRestriction')
  ensure(
    restrictions.length > 0 &&
      restrictions.every((each) => allows(each, expected.entityId)),
    'saml_audience',
  )

  const sessionEnd = sessionEndOf(assertion)
  const isEmail = format === 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'

  // SAML does not mark unverified addresses, so the provider vouches for the addresses of
  // its domains.
  const contact = async () => ({
    email: emailOf(attributesOf(assertion), { text: name, isEmail }, emailAttribute),
    isVerified: true,
  })

  return {
    identity: { issuer, subject: name, isEmail: isEmail || isNameId(emailAttribute) },
    contact,
    account: name,
    sessionEnd,
  }
}

function allows(restriction: XmlElement, entityId: string): boolean {
  const isOurs = ({ text, children }: XmlElement) =>
    children.length === 0 && trimmed(text) === entityId
  return childrenOf(restriction, saml, 'Audience').some(isOurs)
}

/**
 * Profiles 4.1.4.3: at least one confirmation must meet all conditions. Others may be for
 * other recipients.
 */
function checkConfirmation(subject: XmlElement, expected: Expected): void {
  const isBearer = (each: XmlElement) =>
    uriIn(each, 'Method') === 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
  const bearers = childrenOf(subject, saml, 'SubjectConfirmation').filter(isBearer)
  const failures = bearers.map((each) => failedCheck(each, expected))
  if (failures.includes(null)) return

  throw new SamlRejected(
    failures.find((check) => check !== 'saml_recipient') ??
      failures[0] ??
      'saml_confirmation',
  )
}

/**
 * Returns null if a confirmation is for us, responds to our request and has not expired
 * (Profiles 4.1.4.2).
 */
function failedCheck(
  confirmation: XmlElement,
  { acsUrl, requestId }: Expected,
): SamlCheck | null {
  const [data, another] = childrenOf(confirmation, saml, 'SubjectConfirmationData')
  if (!data || another) return 'saml_confirmation'
  if (uriIn(data, 'Recipient') !== acsUrl) return 'saml_recipient'
  if (data.attributes.get('InResponseTo') !== requestId) return 'saml_in_response_to'
  if (data.attributes.has('NotBefore')) return 'saml_not_before'
  return isAhead(data.attributes.get('NotOnOrAfter')) ? null : 'saml_not_on_or_after'
}

function sessionEndOf(assertion: XmlElement): Date | undefined {
  const statements = childrenOf(assertion, saml, 'AuthnStatement')
  ensure(statements.length > 0, 'saml_authn_statement')
  const ends = statements.flatMap(
    ({ attributes }) => attributes.get('SessionNotOnOrAfter') ?? [],
  )
  ensure(ends.every(isAhead), 'saml_session_ended')
  return ends.length > 0 ? new Date(Math.min(...ends.map(timeOf))) : undefined
}

function isAhead(time: string | undefined): boolean {
  return timeOf(time) > Date.now() - clockSkewMs
}

/**
 * Parses a time. Returns NaN without a time zone, because JavaScript would assume local
 * time.
 */
function timeOf(time = ''): number {
  const hasZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(
    time,
  )
  return hasZone ? Date.parse(time) : Number.NaN
}

function attributesOf(assertion: XmlElement): [name: string, values: string[]][] {
  const statements = childrenOf(assertion, saml, 'AttributeStatement')
  const attributes = statements.flatMap((each) => childrenOf(each, saml, 'Attribute'))
  const valuesOf = (each: XmlElement) =>
    childrenOf(each, saml, 'AttributeValue').map(({ text }) => text)
  return attributes.map((each) => [each.attributes.get('Name') ?? '', valuesOf(each)])
}
