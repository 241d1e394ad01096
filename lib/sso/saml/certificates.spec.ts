import { beforeAll, expect, test } from 'vitest'
import { findExpiringCertificates } from './certificates'
import { newKeyPair } from './key-pair'
import type { SamlSettings } from './settings'

let [ended, soon, late]: string[] = []
beforeAll(async () => {
  // Returns a certificate of 10 years that expires in this number of days.
  const endingIn = async (days: number) => {
    const start = new Date(Date.now() + days * 86_400_000)
    start.setUTCFullYear(start.getUTCFullYear() - 10)
    return (await newKeyPair('idp', start)).certificate
  }
  ;[ended, soon, late] = await Promise.all([-1, 29, 32].map(endingIn))
})

test('reports certificates from 30 days before they expire, unless another certificate expires later', () => {
  const expiring = (
    certificates: unknown[],
    certificate = late,
    nextCertificate?: string,
  ) =>
    findExpiringCertificates({
      certificates,
      certificate,
      nextCertificate,
    } as SamlSettings).map(({ whose }) => whose)
  expect(expiring([soon])).toEqual(['provider'])
  expect(expiring([ended])).toEqual(['provider'])
  expect(expiring([ended, soon, late])).toEqual([])
  expect(expiring([late], soon)).toEqual(['own'])
  expect(expiring([soon], ended)).toEqual(['provider', 'own'])
  expect(expiring([late], soon, late)).toEqual([])
})
