import { log } from '../../log/log'
import { isSaml } from '../connection'
import { findExpiringCertificates } from '../saml/certificates'
import { listConnections } from './connections'

/** Logs the connections whose certificates expire within 30 days. Call it daily. */
export async function logExpiringCertificates(): Promise<void> {
  const connections = await listConnections()
  const enabled = connections.filter(isSaml).filter(({ disabledAt }) => !disabledAt)

  for (const { slug, settings } of enabled)
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
