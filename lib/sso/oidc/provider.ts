import type { OidcConnection } from '../connection'
import type { Provider } from '../provider'
import { add, check, describe } from './operator'
import { authenticate, authorize } from './sign-in'

/** OpenID Connect. */
export const oidc: Provider<OidcConnection> = { response: 'query', authorize, authenticate, describe, check, add }
