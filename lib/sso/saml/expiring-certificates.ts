import { X509Certificate } from 'node:crypto'
import type { SamlSettings } from './settings'

const soonMs = 30 * 24 * 60 * 60 * 1000

/** Returns whose certificates end within 30 days, and when. Of several of the provider, only the last end counts. */
export function expiringCertificates({ certificates, certificate, nextCertificate }: SamlSettings) {
  const ends = { provider: Math.max(...certificates.map(endOf)), own: endOf(nextCertificate ?? certificate) }
  return Object.entries(ends).flatMap(([whose, endsAt]) => (endsAt <= Date.now() + soonMs ? [{ whose, endsAt }] : []))
}

/** When a certificate (PEM) ends. */
export function endOf(pem: string): number {
  return Date.parse(new X509Certificate(pem).validTo)
}
