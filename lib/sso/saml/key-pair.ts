import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

/**
 * Creates an RSA key of 2048 bits, and a self-signed certificate for it, which providers
 * need. Returns both as PEM.
 */
export async function newKeyPair(commonName: string, now = new Date()) {
  const { default: forge } = await import('node-forge') // here, because it is large
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })

  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey)
  certificate.serialNumber = `4${randomBytes(16).toString('hex').slice(1)}` // positive, without a leading zero
  certificate.validity.notBefore = now
  certificate.validity.notAfter = new Date(now)
  certificate.validity.notAfter.setUTCFullYear(now.getUTCFullYear() + 10)
  certificate.setSubject([{ name: 'commonName', value: commonName }])
  certificate.setIssuer(certificate.subject.attributes)
  certificate.sign(forge.pki.privateKeyFromPem(privateKey), forge.md.sha256.create())

  return {
    privateKey,
    certificate: forge.pki.certificateToPem(certificate).replaceAll('\r', ''),
  }
}
