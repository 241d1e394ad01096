import { log } from '../../log/log'
import { isSaml } from '../connection'
import {
  type CertificateEnd,
  findExpiringCertificates,
  readCertificateEnds,
} from '../saml/certificates'
import { listConnections } from './connections'

/** Logs the connections whose certificates expire within 30 days. Call it daily. */
export async function logExpiringCertificates(): Promise<void> {
  for (const { slug, settings } of await listEnabled())
    for (const { whose, endsAt } of findExpiringCertificates(settings)) {
      const found = {
        connection: slug,
        check: 'certificate_expires',
        whose,
        endsAt: new Date(endsAt).toISOString(),
      }
      log.warn(found, 'a certificate of a connection ends soon')
    }
}

/** Returns when the certificates of the enabled connections end. */
export async function listCertificateEnds(): Promise<
  (CertificateEnd & { connection: string })[]
> {
  const connections = await listEnabled()
  return connections.flatMap(({ slug, settings }) =>
    readCertificateEnds(settings).map((end) => ({ connection: slug, ...end })),
  )
}

async function listEnabled() {
  const connections = await listConnections()
  return connections.filter(isSaml).filter(({ disabledAt }) => !disabledAt)
}
