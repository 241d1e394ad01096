// `npm run test:providers` runs this before the tests, so that downloads do not count
// towards their timeouts.
import { installProviders } from '../support/servers/tools'

try {
  installProviders()
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}
