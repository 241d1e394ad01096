// Part of `npm run test:providers`: before the tests, because a download must not count as their time.
import { installProviders } from '../support/tools'

try {
  installProviders()
} catch (error) {
  console.error((error as Error).message)
  process.exit(1)
}
