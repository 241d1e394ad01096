// `npm run test:providers` runs this before the tests, so that downloads do not count
// towards their timeouts.
import { installClients } from '../support/clients/install'
import { installProviders } from '../support/servers/tools'

try {
  installProviders()
  installClients()
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}
