// The OpenID provider of the tests in its own process, so that its CPU time is not counted.
import { startProvider } from '../e2e/support/oidc-provider'

const provider = await startProvider()
process.send!({ issuer: provider.issuer })
const stop = () => void provider.stop().then(() => process.exit())
process.on('SIGTERM', stop)
process.on('disconnect', stop)
