import { X509Certificate } from 'node:crypto'
import type { SamlSettings } from './settings'

const soonMs = 30 * 24 * 60 * 60 * 1000

/**
 * Returns whose certificates expire within 30 days, and when. For the provider, uses the
 * one that expires last.
 */
export function findExpiringCertificates({
  certificates,
  certificate,
  nextCertificate,
}: SamlSettings) {
  const ends = {
    provider: Math.max(...certificates.map(readEnd)),
    own: readEnd(nextCertificate ?? certificate),
  }

  return Object.entries(ends).flatMap(([whose, endsAt]) =>
    endsAt <= Date.now() + soonMs ? [{ whose, endsAt }] : [],
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
