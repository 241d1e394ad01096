import { X509Certificate } from 'node:crypto'
import type { SamlSettings } from './settings'

const soonMs = 30 * 24 * 60 * 60 * 1000

/** The end of a certificate, in milliseconds since 1970. */
export type CertificateEnd = { whose: 'provider' | 'own'; endsAt: number }

/** Returns when the certificates end. For the provider, uses the one that ends last. */
export function readCertificateEnds({
  certificates,
  certificate,
  nextCertificate,
}: SamlSettings): CertificateEnd[] {
  return [
    { whose: 'provider', endsAt: Math.max(...certificates.map(readEnd)) },
    { whose: 'own', endsAt: readEnd(nextCertificate ?? certificate) },
  ]
}

/** Returns the ends within 30 days. */
export function findExpiringCertificates(settings: SamlSettings): CertificateEnd[] {
  return readCertificateEnds(settings).filter(
    ({ endsAt }) => endsAt <= Date.now() + soonMs,
  )
}

function readEnd(pem: string): number {
  return Date.parse(new X509Certificate(pem).validTo)
}

/** Returns the text by which an operator recognizes a certificate. */
export function describeCertificate(pem: string): string {
  return `${new X509Certificate(pem).fingerprint256.slice(0, 23)}… until ${formatDate(readEnd(pem))}`
}

export function formatDate(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
