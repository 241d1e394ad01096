import { generateKeyPair, randomBytes, sign } from 'node:crypto'
import { promisify } from 'node:util'

const validYears = 10
const oids = { commonName: '0603550403', sha256WithRsa: '06092a864886f70d01010b' }

/**
 * Makes an RSA key of 2048 bits and a certificate for it that it signed itself, both PEM. Providers
 * take the certificate as a container for the key.
 */
export async function newKeyPair(
  commonName: string,
  now = new Date(),
): Promise<{ privateKey: string; certificate: string }> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const certificate = selfSigned(commonName, privateKey, publicKey, now)
  return { privateKey, certificate: pem('CERTIFICATE', certificate) }
}

/** An X.509 certificate (RFC 5280 §4.1) in version 1, which has no extensions. */
function selfSigned(commonName: string, privateKey: string, publicKey: Buffer, now: Date): Buffer {
  const name = Buffer.from(commonName)
  if (name.length === 0 || name.length > 64) throw new Error('the name of a certificate has 1 to 64 bytes')
  const end = new Date(now)
  end.setUTCFullYear(end.getUTCFullYear() + validYears)
  const algorithm = der(sequence, Buffer.from(oids.sha256WithRsa, 'hex'), der(0x05))
  const attribute = der(sequence, Buffer.from(oids.commonName, 'hex'), der(utf8String, name))
  const distinguishedName = der(sequence, der(0x31, attribute))
  const serial = randomBytes(16)
  serial[0] = (serial[0]! & 0x7f) | 0x40 // positive, and without a leading zero
  const content = der(
    sequence,
    der(integer, serial),
    algorithm,
    distinguishedName,
    der(sequence, time(now), time(end)),
    distinguishedName,
    publicKey,
  )
  return der(sequence, content, algorithm, der(0x03, Buffer.of(0), sign('sha256', content, privateKey)))
}

const sequence = 0x30
const integer = 0x02
const utf8String = 0x0c

/** One value in DER: tag, length, content. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const length = content.length
  const header = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...header), content])
}

/** UTCTime until 2049, and GeneralizedTime later, as RFC 5280 demands. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/\D/g, '').slice(0, 14)
  const isLate = date.getUTCFullYear() >= 2050
  return der(isLate ? 0x18 : 0x17, Buffer.from(`${isLate ? digits : digits.slice(2)}Z`))
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g)!
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
