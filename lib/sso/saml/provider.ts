import type { SamlConnection } from '../connection'
import type { Provider } from '../provider'
import { add, check, describe } from './operator'
import { authenticate, authorize } from './sign-in'

/** SAML 2.0. */
export const saml: Provider<SamlConnection> = { response: 'form', authorize, authenticate, describe, check, add }
