import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { temporaryFolder } from './program'

export type Certificate = { privateKey: string; certificate: string }

/** Makes an RSA key with a certificate that it signed itself, in PEM. */
export function newCertificate(name: string): Certificate {
  const folder = temporaryFolder('certificate')
  const files = { key: `${folder.path}/key.pem`, certificate: `${folder.path}/certificate.pem` }
  const subject = ['-subj', `/CN=${name}`, '-days', '30']
  const output = ['-keyout', files.key, '-out', files.certificate]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject, ...output], { stdio: 'ignore' })
  const made = {
    privateKey: readFileSync(files.key, 'utf8'),
    certificate: readFileSync(files.certificate, 'utf8'),
  }
  folder.remove()
  return made
}
