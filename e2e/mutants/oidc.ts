// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are parts of other files
import type { Mutant } from './list'

type Fault = Pick<Mutant, 'name' | 'find' | 'replace' | 'title'> & Partial<Pick<Mutant, 'tests' | 'project'>>

const inFile = (file: string, faults: Fault[]): Mutant[] =>
  faults.map((fault) => ({ file, tests: 'api/oidc', project: 'api', ...fault }))

const signIn = 'a sign-in: PKCE, state and nonce'

/** Faults of sign-ins with OpenID Connect, and of what both kinds of connections share. */
export const oidcMutants: Mutant[] = [
  ...inFile('lib/sso/oidc.ts', [
    {
      name: 'OIDC: no PKCE in the request',
      find: `
    code_challenge: await client.calculatePKCECodeChallenge(secrets.codeVerifier),
    code_challenge_method: 'S256',`,
      replace: '',
      title: signIn,
    },
    {
      name: 'OIDC: PKCE is plain',
      find: `await client.calculatePKCECodeChallenge(secrets.codeVerifier),
    code_challenge_method: 'S256'`,
      replace: `secrets.codeVerifier, code_challenge_method: 'plain'`,
      title: signIn,
    },
    {
      name: 'OIDC: no code verifier',
      find: 'pkceCodeVerifier: secrets.codeVerifier,',
      replace: '',
      title: signIn,
    },
    {
      name: 'OIDC: no nonce in the request',
      find: 'nonce: secrets.nonce,',
      replace: '',
      title: signIn,
    },
    {
      name: 'OIDC: no nonce is expected',
      find: 'expectedNonce: secrets.nonce,',
      replace: '',
      title: 'another nonce',
    },
    {
      name: 'OIDC: no ID token is expected',
      find: `
      expectedNonce: secrets.nonce,
      pkceCodeVerifier: secrets.codeVerifier,
      idTokenExpected: true,`,
      replace: 'pkceCodeVerifier: secrets.codeVerifier,',
      title: 'no ID token',
    },
    {
      name: 'OIDC: another redirect URI in the request',
      find: 'redirect_uri: redirectUri(connection.slug)',
      replace: 'redirect_uri: `${redirectUri(connection.slug)}/`',
      title: signIn,
    },
    {
      name: 'OIDC: another redirect URI for the token',
      find: 'new URL(redirectUri(connection.slug))',
      replace: 'new URL(`${redirectUri(connection.slug)}/`)',
      title: signIn,
    },
    {
      name: 'OIDC: the issuer of the response is not checked',
      find: 'response.search = search\n',
      replace: `response.search = search\n  response.searchParams.set('iss', connection.settings.issuer)\n`,
      title: 'another iss parameter',
    },
    {
      name: 'OIDC: a response needs no issuer',
      find: 'response.search = search\n',
      replace: `response.search = search
  if (!response.searchParams.has('iss')) response.searchParams.set('iss', connection.settings.issuer)\n`,
      title: 'no iss parameter',
    },
    {
      name: 'OIDC: the issuer in the metadata is not checked',
      find: 'await client.discovery(',
      replace: `await (async (url: URL, ...[id, ours, authentication, { timeout }]: any) => {
        const metadata = await fetch(\`\${url.href.replace(/\\/$/, '')}/.well-known/openid-configuration\`)
        const own = new client.Configuration((await metadata.json()) as any, id, ours, authentication)
        for (const extend of extensions) extend(own)
        return Object.assign(own, { timeout })
      })(`,
      title: 'metadata with another issuer',
    },
    {
      name: 'OIDC: signatures are not verified',
      find: 'const extensions = [client.enableNonRepudiationChecks]',
      replace: 'const extensions: ((configuration: Configuration) => void)[] = []',
      title: 'a foreign key',
    },
    {
      name: 'OIDC: any issuer may use http',
      find: `if (new URL(issuer).protocol === 'http:') extensions`,
      replace: 'extensions',
      title: 'with https has no endpoint with http',
    },
    {
      name: 'OIDC: claims are not checked',
      find: '    checkClaims(claims, connection.settings)\n',
      replace: '',
      title: 'one audience, and azp is another',
    },
    {
      name: 'OIDC: azp is not checked',
      find: 'if (azp !== undefined && azp !== clientId)',
      replace: 'if (false)',
      title: 'one audience, and azp is another',
    },
    {
      name: 'OIDC: azp is required',
      find: 'azp !== undefined && azp !== clientId',
      replace: 'azp !== clientId',
      title: signIn,
    },
    {
      name: 'OIDC: iat is not checked',
      find: 'if (Number(iat) > Date.now() / 1000 + clockToleranceSeconds)',
      replace: 'if (false)',
      title: 'iat in two minutes',
    },
    {
      name: 'OIDC: clocks may differ by five minutes',
      find: 'const clockToleranceSeconds = 60',
      replace: 'const clockToleranceSeconds = 300',
      title: 'exp two minutes ago',
    },
    {
      name: 'OIDC: clocks may not differ',
      find: '{ [client.clockTolerance]: clockToleranceSeconds }',
      replace: '{}',
      title: 'accepts what specifications leave open',
    },
    {
      name: 'OIDC: any tenant may sign in',
      find: 'if (tenants && !tenants.some((tenant) => tenant.toLowerCase() === tid))',
      replace: 'if (false)',
      title: 'with tenants, a token',
    },
    {
      name: 'OIDC: a token without a tenant is of every tenant',
      find: 'if (tenants && !tenants',
      replace: 'if (tid && tenants && !tenants',
      title: 'with tenants, a token',
    },
    {
      name: 'OIDC: sub identifies a user of Entra ID',
      find: 'isEntra(issuer) ? claims.oid : sub',
      replace: 'sub',
      title: 'Entra ID: oid',
    },
    {
      name: 'OIDC: a user of Entra ID needs no oid',
      find: `typeof subject !== 'string' || !`,
      replace: '!',
      title: 'Entra ID: oid',
    },
    {
      name: 'OIDC: the oid may be empty',
      find: '{1,255}$/u',
      replace: '{0,255}$/u',
      title: 'Entra ID: oid',
    },
    {
      name: 'OIDC: subjects are unbounded',
      find: '{1,255}$/u',
      replace: '{1,}$/u',
      title: 'an endless sub',
    },
    {
      name: 'OIDC: subjects may contain NUL',
      find: '[^\\0\\p',
      replace: '[^\\p',
      title: 'a NUL in sub',
    },
    {
      name: 'OIDC: subjects may contain half a surrogate pair',
      find: '\\p{Surrogate}]',
      replace: ']',
      title: 'half a surrogate pair in sub',
    },
    {
      name: 'OIDC: the user info is of anybody',
      find: 'tokens.access_token, sub)',
      replace: 'tokens.access_token, client.skipSubjectCheck)',
      title: 'an address that only the user info endpoint has',
    },
    {
      name: 'OIDC: the user info is not asked',
      find: 'if (claims.email === undefined && endpoint)',
      replace: 'if (false)',
      title: 'an address that only the user info endpoint has',
    },
    {
      name: 'OIDC: addresses need not be verified',
      find: `verified === undefined || verified === true || verified === 'true'`,
      replace: 'true',
      title: 'an unverified address: nobody',
    },
    {
      name: 'OIDC: an address is verified unless that is false',
      find: `verified === undefined || verified === true || verified === 'true'`,
      replace: 'verified !== false',
      title: 'an unverified address, as text',
    },
    {
      name: 'OIDC: any private account of Google is an employee',
      find: `...(isGoogle(issuer) && { hostedDomain: typeof idToken.hd === 'string' ? idToken.hd : null }),`,
      replace: '',
      title: 'Google: hd',
    },
    {
      name: 'OIDC: the user info says which domain Google hosts',
      find: `typeof idToken.hd === 'string' ? idToken.hd`,
      replace: `typeof claims.hd === 'string' ? claims.hd`,
      title: 'Google: hd',
    },
    {
      name: 'OIDC: without hd, Google hosts every domain',
      find: `isGoogle(issuer) && { hostedDomain: typeof`,
      replace: `isGoogle(issuer) && idToken.hd !== undefined && { hostedDomain: typeof`,
      title: 'Google: hd',
    },
    {
      name: 'OIDC: metadata is kept when the settings change',
      find: 'entry.source !== source || ',
      replace: '',
      title: 'its metadata is fetched once',
    },
    {
      name: 'OIDC: metadata is kept for ever',
      find: ' || entry.endsAt < performance.now()',
      replace: '',
      title: 'its metadata is fetched once',
    },
    {
      name: 'OIDC: metadata is fetched for each sign-in',
      find: 'cache.set(id, entry)\n',
      replace: '\n',
      title: 'its metadata is fetched once',
    },
    {
      name: 'OIDC: a failed discovery is kept for an hour',
      find: 'failed.endsAt = performance.now() + failedDiscoveryMs',
      replace: 'void failed',
      title: 'a failed discovery is kept for five seconds',
    },
    {
      name: 'OIDC: a failed discovery is kept for six seconds',
      find: 'failedDiscoveryMs = 5_000',
      replace: 'failedDiscoveryMs = 6_000',
      title: 'a failed discovery is kept for five seconds',
    },
    {
      name: 'OIDC: each sign-in repeats a failed discovery',
      find: 'failed.endsAt = performance.now() + failedDiscoveryMs',
      replace: 'if (cache.get(id) === failed) cache.delete(id)',
      title: 'metadata that can’t be used is fetched once in five seconds',
    },
    {
      name: 'OIDC: metadata is copied for each sign-in',
      find: 'tokens.access_token, sub), metadata)',
      replace: 'tokens.access_token, sub), metadata && configuration.serverMetadata())',
      title: 'its metadata is copied when it is fetched',
    },
    {
      name: 'OIDC: metadata may be as large as other responses',
      find: 'fetchFromProvider(maxMetadataBytes)',
      replace: 'fetchFromProvider(maxResponseBytes)',
      title: 'metadata with more than 32 KiB',
    },
    {
      name: 'OIDC: other responses may only be as large as metadata',
      find: 'configuration[client.customFetch] = fetchFromProvider(maxResponseBytes)',
      replace: 'if (maxResponseBytes === 0) return { configuration, metadata }',
      title: 'its responses may have 64 KiB',
    },
    {
      name: 'OIDC: an issuer may end with NUL',
      find: 'if (/\\p{Cc}/u.test(metadata.issuer))',
      replace: 'if (false)',
      title: 'metadata with a NUL after the issuer',
    },
    {
      name: 'OIDC: metadata needs no authorization endpoint',
      find: '!metadata.authorization_endpoint || ',
      replace: '',
      title: 'a mended provider works again',
    },
    {
      name: 'OIDC: metadata needs no token endpoint',
      find: '!metadata.token_endpoint || ',
      replace: '',
      title: 'metadata with no token endpoint',
    },
    {
      name: 'OIDC: metadata needs no keys',
      find: ' || !metadata.jwks_uri',
      replace: '',
      title: 'metadata with no keys',
    },
    {
      name: 'OIDC: requests to the provider never end',
      find: 'timeout: timeoutSeconds,',
      replace: 'timeout: 600,',
      title: 'a token endpoint that never responds',
    },
    {
      name: 'OIDC: requests to the provider follow redirects',
      find: 'await fetchLimited(url, { ...(options as FetchOptions), lookup: lookUpProvider }, maxBytes)',
      replace: `await fetch(url, { ...options, redirect: 'follow' } as RequestInit)`,
      title: 'a token endpoint that redirects',
    },
    {
      name: 'OIDC: a provider that is down is an invalid response',
      find: `: 'provider_unreachable'`,
      replace: `: 'provider_response'`,
      title: 'dead: provider_unreachable',
    },
    {
      name: 'OIDC: a response of a provider may be large',
      find: 'maxResponseBytes = 64 * 1024',
      replace: 'maxResponseBytes = 64 * 1024 * 1024',
      title: 'a token response of more than 64 KiB',
    },
    {
      name: 'OIDC: the secret is always in the body',
      find: `methods.includes('client_secret_basic')`,
      replace: 'methods.length === 0',
      title: 'the client secret goes where the provider accepts it',
    },
    {
      name: 'OIDC: the secret is always in the header',
      find: `methods.includes('client_secret_basic')`,
      replace: 'methods.length > 0',
      title: 'the client secret goes where the provider accepts it',
    },
    {
      name: 'OIDC: the secret is not encoded',
      find: '.map(formEncode)',
      replace: '',
      title: signIn,
    },
  ]),
  ...inFile('lib/sso/oidc-rejection.ts', [
    {
      name: 'OIDC: an error of the provider can be any text',
      find: 'providerErrors.find((error) => error === oauthError)',
      replace: 'oauthError as SignInError',
      title: 'its errors get words of ours',
    },
    {
      name: 'OIDC: a token error can be any text',
      find: `tokenErrors.includes(oauthError) ? oauthError : 'error'`,
      replace: 'oauthError',
      title: 'a token error with a text of its own',
    },
    {
      name: 'OIDC: a provider that hangs is an invalid response',
      find: 'if (isTimeout(thrown))',
      replace: 'if (false)',
      title: 'never responds',
    },
  ]),
  ...inFile('lib/sso/settings.ts', [
    {
      name: 'OIDC: an issuer may use http anywhere',
      find: '/^https:/i.test(value) || (!isHttps() && isLoopback(hostOf(value)))',
      replace: 'value',
      title: 'reject what would trust too much',
    },
    {
      name: 'OIDC: a service with https accepts an issuer with http',
      find: '!isHttps() && isLoopback',
      replace: 'isLoopback',
      title: 'a service with https accepts no issuer with http',
    },
    {
      name: 'OIDC: an issuer may have a query',
      find: '!/[?#]/.test(value)',
      replace: 'value',
      title: 'reject what would trust too much',
    },
    {
      name: 'OIDC: an issuer may be the URL of its metadata',
      find: `!value.includes('/.well-known/')`,
      replace: 'value',
      title: 'reject what would trust too much',
    },
    {
      name: 'OIDC: an issuer for all tenants needs no list of them',
      find: 'tenants || !servesAllTenants(issuer)',
      replace: 'true',
      title: 'reject what would trust too much',
    },
    {
      name: 'OIDC: the list of tenants may be empty',
      find: 'z.array(z.guid()).min(1)',
      replace: 'z.array(z.guid())',
      title: 'reject what would trust too much',
    },
  ]),
  ...inFile('lib/sso/sign-in-attempt.ts', [
    {
      name: 'SSO: an attempt works twice',
      find: '\n      AND claimed_at IS NULL AND expires_at > now()',
      replace: ' AND expires_at > now()',
      title: 'used twice',
    },
    {
      name: 'SSO: a response of SAML counts twice',
      find: '\n      AND claimed_at IS NULL AND expires_at > now()',
      replace: ' AND expires_at > now()',
      tests: 'api/saml.spec',
      title: 'a response counts once',
    },
    {
      name: 'SSO: an attempt never expires',
      find: 'AND claimed_at IS NULL AND expires_at > now()',
      replace: 'AND claimed_at IS NULL',
      title: 'expired after 20 minutes',
    },
    {
      name: 'SSO: an attempt of SAML never expires',
      find: 'AND claimed_at IS NULL AND expires_at > now()',
      replace: 'AND claimed_at IS NULL',
      tests: 'api/saml.spec',
      title: 'an expired, an unknown and a disabled sign-in',
    },
    {
      name: 'SSO: an attempt works at any connection',
      find: 'WHERE state_hash = ${stateHash} AND connection_id = ${connectionId} AND ${isBrowser}',
      replace: 'WHERE state_hash = ${stateHash} AND ${isBrowser}',
      title: 'mix-up',
    },
    {
      name: 'SSO: an attempt of SAML works at any connection',
      find: 'WHERE state_hash = ${stateHash} AND connection_id = ${connectionId} AND ${isBrowser}',
      replace: 'WHERE state_hash = ${stateHash} AND ${isBrowser}',
      tests: 'api/saml.spec',
      title: 'another connection’s response',
    },
    {
      name: 'SSO: an attempt works in any browser',
      find: 'AND connection_id = ${connectionId} AND ${isBrowser}',
      replace: 'AND connection_id = ${connectionId}',
      title: 'of another browser',
    },
    {
      name: 'SSO: an attempt works without a cookie',
      find: '(browser_hash = ${browserHash}) IS TRUE',
      replace: '(browser_hash = ${browserHash}) IS NOT FALSE',
      title: 'of another browser',
    },
    {
      name: 'SSO: the ACS accepts the cookie of another browser',
      find: 'mayLackCookies && browserHash === null',
      replace: 'mayLackCookies',
      tests: 'api/saml.spec',
      title: 'a response in another browser',
    },
    {
      name: 'SSO: the nonce is the code verifier',
      find: `nonce: derive('nonce')`,
      replace: `nonce: derive('code_verifier')`,
      title: signIn,
    },
    {
      name: 'SSO: the code verifier is the state',
      find: `codeVerifier: derive('code_verifier')`,
      replace: 'codeVerifier: state',
      title: signIn,
    },
    {
      name: 'SSO: the ID of the AuthnRequest is the state',
      find: `_\${derive('request_id')}`,
      replace: '_${state}',
      tests: 'api/saml.spec',
      title: 'requests are signed with the key',
    },
    {
      name: 'SSO: the state is stored',
      find: 'VALUES (${hashSecret(state)}, ${connectionId}',
      replace: `VALUES (\${Buffer.from(state, 'base64url')}, \${connectionId}`,
      title: 'nothing secret is stored',
    },
    {
      name: 'SSO: the cookie of the browser is stored',
      find: '${connectionId}, ${hashSecret(browser)}, ${next}',
      replace: `\${connectionId}, \${Buffer.from(browser, 'base64url')}, \${next}`,
      title: 'nothing secret is stored',
    },
    {
      name: 'SSO: any signing key derives the secrets of an attempt',
      find: 'SESSION_SIGNING_KEYS.signInKeys[kid]',
      replace: 'SESSION_SIGNING_KEYS.signInKeys[env().SESSION_SIGNING_KEYS.kid]',
      title: 'outlives a rotation of the signing key',
    },
    {
      name: 'SSO: unsolicited responses lead in circles',
      find: 'if (row!.count >= unsolicitedPerMinute)',
      replace: 'if (false)',
      tests: 'api/saml.spec',
      title: 'an unsolicited response is not read',
    },
  ]),
  ...inFile('app/api/auth/sso/[connection]/start/route.ts', [
    {
      name: 'SSO: next is not validated',
      find: `nextDestination(searchParams.get('next'), PUBLIC_URL, DASHBOARD_URL)`,
      replace: `searchParams.get('next') || (PUBLIC_URL && DASHBOARD_URL && nextDestination('', '', ''))`,
      title: '`next` of another site is dropped',
    },
    {
      name: 'SSO: the start remembers no browser',
      find: '      setCookies([browserCookie(browser)])\n',
      replace: '',
      title: signIn,
    },
    {
      name: 'SSO: each start is another browser',
      find: 'browserOf(request.headers) ?? newSecret()',
      replace: 'newSecret()',
      title: 'a browser keeps its cookie',
    },
    {
      name: 'SSO: a start does not look for circles',
      find: `if (searchParams.has('unsolicited')) await`,
      replace: 'if (false) await',
      tests: 'api/saml.spec',
      title: 'an unsolicited response is not read',
    },
    {
      name: 'SSO: every start looks for circles',
      find: `if (searchParams.has('unsolicited')) await`,
      replace: 'await',
      tests: 'api/saml.spec',
      title: 'an unsolicited response is not read',
    },
  ]),
  ...inFile('app/api/auth/sso/[connection]/callback/route.ts', [
    {
      name: 'SSO: a code of OIDC works in any browser',
      find: '        browser: browser!,\n',
      replace: '',
      title: signIn,
    },
    {
      name: 'SSO: a session of OIDC has no connection',
      find: '        identity: { connectionId: connection.id, ...identity },\n',
      replace: '',
      title: signIn,
    },
    {
      name: 'SSO: the callback does not renew the cookie',
      find: '      setCookies([browserCookie(browser)])\n',
      replace: '',
      title: 'a browser keeps its cookie',
    },
    {
      name: 'SSO: a callback needs no cookie',
      find: 'connectionId: connection.id,\n        browser,',
      replace: 'connectionId: connection.id,\n        browser, mayLackCookies: true,',
      title: 'of another browser',
    },
    {
      name: 'SSO: an error of OIDC forgets next',
      find: '      wayOn.next = next\n',
      replace: '',
      title: 'its errors get words of ours',
    },
    {
      name: 'SSO: a connection with SAML has a callback',
      find: `if (!isOidc(connection)) throw new SignInRejected('connection_kind', 'connection_unavailable')`,
      replace: 'if (!isOidc(connection) && !isOidc) throw new SignInRejected(``, `other`)',
      tests: 'api/saml.spec',
      title: 'each kind of connection has its own way back',
    },
  ]),
  ...inFile(
    'app/api/auth/sso/[connection]/acs/route.ts',
    (
      [
        {
          name: 'SSO: a connection with OIDC has an ACS',
          find: `if (!isSaml(connection)) throw new SignInRejected('connection_kind', 'connection_unavailable')`,
          replace: 'if (!isSaml(connection) && !isSaml) throw new SignInRejected(``, `other`)',
          title: 'each kind of connection has its own way back',
        },
        {
          name: 'SSO: the form of the ACS is unbounded',
          find: 'readForm(request, maxFormBytes)',
          replace: 'readForm(request, 100 * maxFormBytes)',
          title: 'the ACS accepts forms of up to 350 KiB',
        },
        {
          name: 'SSO: the form of the ACS is that of other forms',
          find: 'readForm(request, maxFormBytes)',
          replace: 'readForm(request)',
          title: 'the ACS accepts forms of up to 350 KiB',
        },
        {
          name: 'SSO: any RelayState is a state',
          find: 'if (!/^[\\w-]{43}$/.test(state))',
          replace: 'if (!state)',
          title: 'an unsolicited response is not read',
        },
        {
          name: 'SSO: an unsolicited response is a failed sign-in',
          find: 'if (!/^[\\w-]{43}$/.test(state))',
          replace: 'if (false)',
          title: 'an unsolicited response is not read',
        },
        {
          name: 'SSO: an unsolicited start is not known as one',
          find: '${startPath(connection.slug)}?unsolicited',
          replace: '${startPath(connection.slug)}',
          title: 'an unsolicited response is not read',
        },
        {
          name: 'SSO: a code of SAML works in any browser',
          find: '        browserHash,\n        identity',
          replace: '        identity',
          title: 'a response in another browser',
        },
        {
          name: 'SSO: a session of SAML has no connection',
          find: '        identity: { connectionId: connection.id, ...identity },\n',
          replace: '',
          title: 'signs in with a signed assertion;',
        },
        {
          name: 'SSO: a session outlives that of the provider',
          find: '        ...(sessionEnd && { renewableUntil: sessionEnd }),\n',
          replace: '',
          title: 'a session is not renewed after',
        },
        {
          name: 'SSO: an error of SAML forgets next',
          find: '      wayOn.next = next\n',
          replace: '',
          title: 'rejects a response: SHA-1',
        },
        {
          name: 'SSO: the ACS ignores cookies',
          find: '        browser,\n        mayLackCookies: true,',
          replace: '        browser: null, mayLackCookies: Boolean(browser) || true,',
          title: 'a response in another browser',
        },
        {
          name: 'SSO: the ACS needs a cookie',
          find: 'mayLackCookies: true,',
          replace: '',
          title: 'signs in with a signed assertion;',
        },
      ] satisfies Fault[]
    ).map((fault) => ({ ...fault, tests: 'api/saml.spec' })),
  ),
  ...inFile('app/api/auth/sso/[connection]/metadata/route.ts', [
    {
      name: 'SSO: a connection with OIDC has metadata of SAML',
      find: '!connection || !isSaml(connection)',
      replace: '!connection || !isSaml',
      tests: 'api/saml.spec',
      title: 'each kind of connection has its own way back',
    },
  ]),
  ...inFile('app/api/auth/sso/[connection]/navigation.ts', [
    {
      name: 'SSO: a redirect keeps the method',
      find: 'status: 303, headers',
      replace: 'status: 307, headers',
      title: signIn,
    },
    {
      name: 'SSO: the URL of a callback is a referrer',
      find: `, 'Referrer-Policy': 'no-referrer' }`,
      replace: ' }',
      title: 'a browser keeps its cookie',
    },
    {
      name: 'SSO: a form that is too large leads to a page',
      find: 'if (thrown instanceof ApiError) throw thrown',
      replace: 'if (thrown instanceof ApiError && !ApiError) throw thrown',
      tests: 'api/saml.spec',
      title: 'the ACS accepts forms of up to 350 KiB',
    },
  ]),
  ...inFile('lib/sso/connection.ts', [
    {
      name: 'SSO: a text without an @ has the domain of an address',
      find: 'return at < 0 ? null : ',
      replace: 'return ',
      title: 'only a domain',
    },
    {
      name: 'SSO: a disabled connection starts sign-ins',
      find: 'FROM connections WHERE slug = ${slug} AND disabled_at IS NULL`',
      replace: 'FROM connections WHERE slug = ${slug}`',
      title: 'refuses at start, callback, exchange and refresh',
    },
    {
      name: 'SSO: a disabled connection accepts responses of SAML',
      find: 'FROM connections WHERE slug = ${slug} AND disabled_at IS NULL`',
      replace: 'FROM connections WHERE slug = ${slug}`',
      tests: 'api/saml.spec',
      title: 'an expired, an unknown and a disabled sign-in',
    },
    {
      name: 'SSO: an address leads to a disabled connection',
      find: 'WHERE domain = ${domain}) AND disabled_at IS NULL`',
      replace: 'WHERE domain = ${domain})`',
      title: 'an address leads to its connection, while that is enabled',
    },
    {
      name: 'SSO: the sign-in page offers a disabled connection',
      find: `WHERE slug > '' AND disabled_at IS NULL ORDER BY slug`,
      replace: `WHERE slug > '' ORDER BY slug`,
      title: 'an address leads to its connection, while that is enabled',
    },
    {
      name: 'SSO: a domain is matched as it is spelled',
      find: 'const domain = domainInAscii(text)',
      replace: 'const domain = domainInAscii ? text.toLowerCase() : text',
      title: 'an address in Unicode',
    },
  ]),
  ...inFile('lib/sso/exchange.ts', [
    {
      name: 'SSO: a code of a disabled connection works',
      find: `(SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id)
            AND (SELECT`,
      replace: '(SELECT',
      title: 'no code of it can be exchanged',
    },
    {
      name: 'SSO: a code of a user who was unlinked works',
      find: `
            AND (SELECT true FROM identities
                 WHERE identities.user_id = exchange_codes.user_id
                   AND identities.connection_id = exchange_codes.connection_id
                   AND identities.created_at <= exchange_codes.created_at)`,
      replace: '',
      title: 'no code of a user who was unlinked',
    },
    {
      name: 'SSO: a code is issued for an identity that is not linked',
      find: 'if (identity && !(await isLinked(userId, identity))) throw',
      replace: 'if (Math.random() > 1) throw',
      title: 'no code is issued for an identity',
    },
    {
      name: 'SSO: whether a user is linked is looked up before the insert waits',
      find: '  const [row] = await sql<{ expiresAt: Date }>`',
      replace:
        '  if (identity && (await isLinked(userId, identity))) identity = undefined\n  const [row] = await sql<{ expiresAt: Date }>`',
      title: 'no code is issued that waited',
    },
    {
      name: 'SSO: a code is issued for another identity of the user',
      find: 'AND issuer = ${issuer} AND subject = ${subject} AND user_id',
      replace: 'AND user_id',
      title: 'no code is issued for an identity',
    },
    {
      name: 'SSO: a code works for the next person who was linked to the user',
      find: `
                   AND identities.created_at <= exchange_codes.created_at`,
      replace: '',
      title: 'no code of a user who was unlinked',
    },
    {
      name: 'SSO: a code loses its connection',
      find: 'connectionId: part`connection_id`,',
      replace: 'connectionId: part`NULL::uuid`,',
      title: signIn,
    },
  ]),
  ...inFile('lib/session/refresh.ts', [
    {
      name: 'SSO: a session of a disabled connection is renewed',
      find: `
      AND (connection_id IS NULL OR (SELECT disabled_at IS NULL FROM connections WHERE connections.id = connection_id))`,
      replace: '',
      title: 'no code of it can be exchanged',
    },
    {
      name: 'SSO: a session is renewed after the provider has ended its own',
      find: '      AND (renewable_until IS NULL OR renewable_until > now())\n',
      replace: '',
      tests: 'api/saml.spec',
      title: 'a session is not renewed after',
    },
  ]),
  ...inFile('lib/sso/manage.ts', [
    {
      name: 'SSO: disabling a connection keeps its sessions',
      find: `SELECT user_id AS id FROM identities WHERE connection_id = \${id} AND user_id > \${after}::uuid`,
      replace: `SELECT user_id AS id FROM identities WHERE connection_id = \${id} AND user_id > \${after}::uuid AND false`,
      title: 'refuses at start, callback, exchange and refresh',
    },
    {
      name: 'SSO: disabling a connection ends every session of its users',
      find: 'part`user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId}`',
      replace: 'part`user_id = ANY (${userIds}::uuid[])`',
      title: 'refuses at start, callback, exchange and refresh',
    },
    {
      name: 'SSO: the sign-ins of a removed connection are deleted at once',
      find: '= ${connection.id} LIMIT ${rowsAtOnce}',
      replace: '= ${connection.id} LIMIT 100 * ${rowsAtOnce}::int',
      title: 'deletes its sign-ins in batches',
    },
    {
      name: 'SSO: disabling a connection keeps its codes',
      find: 'WHERE user_id = ANY (${userIds}::uuid[]) AND connection_id = ${connectionId} AND ${codeIsUsable}',
      replace: 'WHERE false AND ${codeIsUsable}',
      title: 'refuses at start, callback, exchange and refresh',
    },
    {
      name: 'SSO: sessions that start while a connection is disabled stay',
      find: '  await sql`SELECT 1 FROM users WHERE id = ANY (${userIds}::uuid[]) ORDER BY id FOR UPDATE`\n',
      replace: '',
      title: 'a session that is starting when its connection is disabled',
    },
    {
      name: 'SSO: a connection is disabled after its sessions have ended',
      find: `  await sql\`UPDATE connections SET disabled_at = coalesce(disabled_at, now()) WHERE id = \${id}\`
  let ended = 0
  for (let after = lowestId; ; ) {
    const users = await sql<{ id: string }>\`
      SELECT user_id AS id FROM identities WHERE connection_id = \${id} AND user_id > \${after}::uuid
      ORDER BY user_id LIMIT \${batchSize}\`
    if (users.length === 0) return ended`,
      replace: `  let ended = 0
  for (let after = lowestId; ; ) {
    const users = await sql<{ id: string }>\`
      SELECT user_id AS id FROM identities WHERE connection_id = \${id} AND user_id > \${after}::uuid
      ORDER BY user_id LIMIT \${batchSize}\`
    if (users.length === 0) {
      await sql\`UPDATE connections SET disabled_at = coalesce(disabled_at, now()) WHERE id = \${id}\`
      return ended
    }`,
      title: 'a session that is starting when its connection is disabled',
    },
    {
      name: 'SSO: a second connection takes a domain over',
      find: 'ON CONFLICT (domain) DO NOTHING RETURNING domain',
      replace: 'ON CONFLICT (domain) DO UPDATE SET connection_id = excluded.connection_id RETURNING domain',
      tests: 'api/connections',
      title: 'add rejects what it can’t use',
    },
    {
      name: 'SSO: add marks no users',
      find: 'return allowPasswords ? 0 : restrictUsers(id, slug)\n}\n\n/**\n * Replaces',
      replace: 'return (allowPasswords as unknown) === 1 ? restrictUsers(id, slug) : 0\n}\n\n/**\n * Replaces',
      tests: 'api/connections',
      title: 'add: prints what to enter',
    },
    {
      name: 'SSO: enable marks no users',
      find: 'await sql`UPDATE connections SET disabled_at = NULL WHERE id = ${id}`\n  return allowPasswords ? 0',
      replace:
        'await sql`UPDATE connections SET disabled_at = NULL WHERE id = ${id}`\n  return allowPasswords || id ? 0',
      tests: 'api/connections',
      title: 'enable marks the users',
    },
    {
      name: 'SSO: --allow-passwords marks users',
      find: 'return allowPasswords ? 0 : restrictUsers(id, slug)\n}\n\n/**\n * Replaces',
      replace: 'return allowPasswords === null ? 0 : restrictUsers(id, slug)\n}\n\n/**\n * Replaces',
      tests: 'api/connections',
      title: 'add --allow-passwords marks nobody',
    },
    {
      name: 'SSO: users of every domain are marked',
      find: 'users.filter(({ email }) => domains.has(domainOf(email)))',
      replace: 'users.filter(({ email }) => domains && domainOf(email))',
      tests: 'api/connections',
      title: 'add: prints what to enter',
    },
    {
      name: 'SSO: users whose domain is stored in Unicode are not marked',
      find: 'domains.has(domainOf(email))',
      replace: 'domainOf(email) && domains.has(email.slice(email.lastIndexOf(`@`) + 1))',
      tests: 'api/connections',
      title: 'add and enable mark users whose domain',
    },
    {
      name: 'SSO: the users of a large domain are marked in one statement',
      find: 'WHERE id > ${after}::uuid ORDER BY id LIMIT ${rowsAtOnce}`',
      replace: 'WHERE id > ${after}::uuid ORDER BY id LIMIT ${rowsAtOnce * 1000}`',
      tests: 'api/connections',
      title: 'the users of a large domain',
    },
    {
      name: 'SSO: of a large domain, only the first users are marked',
      find: 'after = batch.last',
      replace: 'after = null',
      tests: 'api/connections',
      title: 'the users of a large domain',
    },
    {
      name: 'SSO: unlinking keeps the sessions',
      find: 'return unlinked ? endSessionsOf(sql, connectionId, [userId]) : null',
      replace: 'return unlinked ? 0 : null',
      tests: 'api/connections',
      title: 'disable, enable, remove and unlink',
    },
    {
      name: 'SSO: new metadata can be of another provider',
      find: ` AND settings->>'issuer' = \${issuer} RETURNING`,
      replace: ` AND \${issuer}::text IS NOT NULL RETURNING`,
      tests: 'api/saml-connections',
      title: 'add, sign in, rotate',
    },
  ]),
  ...inFile('lib/sso/identity.ts', [
    {
      name: 'SSO: a subject is known at every connection',
      find: 'WHERE connection_id = ${connection.id} AND issuer = ${issuer} AND subject = ${subject})`',
      replace: 'WHERE issuer = ${issuer} AND subject = ${subject} LIMIT 1)`',
      title: 'an identity is known by connection, issuer and subject',
    },
    {
      name: 'SSO: a subject is known by every issuer',
      find: 'WHERE connection_id = ${connection.id} AND issuer = ${issuer} AND subject = ${subject})`',
      replace: 'WHERE connection_id = ${connection.id} AND subject = ${subject} LIMIT 1)`',
      title: 'an identity is known by connection, issuer and subject',
    },
    {
      name: 'SSO: all subjects are one user',
      find: 'WHERE connection_id = ${connection.id} AND issuer = ${issuer} AND subject = ${subject})`',
      replace: 'WHERE connection_id = ${connection.id} AND issuer = ${issuer} LIMIT 1)`',
      title: 'an identity is known by connection, issuer and subject',
    },
    {
      name: 'SSO: two first sign-ins of a subject do not take turns',
      find: '    await sql`SELECT pg_advisory_xact_lock(${locks.subject}, hashtext(${`${connection.id} ${identity.subject}`}))`\n',
      replace: '',
      title: 'first sign-ins at once',
    },
    {
      name: 'SSO: two first sign-ins with an address do not take turns',
      find: '    await sql`SELECT pg_advisory_xact_lock(${locks.email}, hashtext(${email}))`\n',
      replace: '',
      title: 'first sign-ins at once',
    },
    {
      name: 'SSO: a first sign-in does not look again',
      find: '(await findUser(sql, connection, identity)) ?? link(',
      replace: 'link(',
      title: '50 simultaneous first sign-ins',
    },
    {
      name: 'SSO: an address passes to another person',
      find: `if (found?.isLinked) return new SignInRejected('identity_other_subject', 'no_access')`,
      replace: '',
      title: 'a user of the domain is linked',
    },
    {
      name: 'SSO: a user whose domain is stored in Unicode is not linked',
      find: '${[email, inUnicode(email)]}',
      replace: '${inUnicode(email) ? [email] : []}',
      title: 'a user who is stored with a Unicode domain',
    },
    {
      name: 'SSO: provisioning is always on',
      find: `if (!found && !connection.provision) return new SignInRejected('identity_not_provisioned', 'no_access')`,
      replace: '',
      title: 'without provisioning, nobody is created',
    },
    {
      name: 'SSO: a disabled user is linked',
      find: '  if (found?.isDisabled) return found\n',
      replace: '',
      title: 'a disabled user can’t sign in',
    },
    {
      name: 'SSO: a disabled user signs in',
      find: `if (isDisabled) throw new SignInRejected('user_disabled', 'no_access')`,
      replace: 'if (isDisabled) return userId',
      title: 'a disabled user can’t sign in',
    },
    {
      name: 'SSO: a new user may set a password',
      find: 'createUser(sql, email, !connection.allowPasswords)',
      replace: 'createUser(sql, email, false)',
      title: signIn,
    },
    {
      name: 'SSO: a new user may never set a password',
      find: 'createUser(sql, email, !connection.allowPasswords)',
      replace: 'createUser(sql, email, true)',
      title: 'with --allow-passwords',
    },
    {
      name: 'SSO: an unverified address is linked',
      find: `if (!isVerified) throw new SignInRejected('email_unverified', 'no_access')`,
      replace: '',
      title: 'an unverified address: nobody',
    },
    {
      name: 'SSO: an address of any domain is linked',
      find: `if (!(await owns(connection, domain))) throw`,
      replace: 'if (!domain) throw',
      title: 'an address of another domain: nobody',
    },
    {
      name: 'SSO: an address of another connection is linked',
      find: 'WHERE domain = ${domain} AND connection_id = ${connection.id}`',
      replace: 'WHERE domain = ${domain}`',
      title: 'an address of another connection: nobody',
    },
    {
      name: 'SSO: any text is an address',
      find: ' || !plainLocalPart.test(local)',
      replace: '',
      title: 'letters that only look like|two addresses|a display name|becomes ASCII',
    },
    {
      name: 'SSO: an address is put in lower case before it is checked',
      find: '!plainLocalPart.test(local)',
      replace: '!plainLocalPart.test(local.toLowerCase())',
      title: 'becomes ASCII',
    },
    {
      name: 'SSO: addresses are unbounded',
      find: ' || address.length > maxAddressLength',
      replace: '',
      title: 'an endless address',
    },
    {
      name: 'SSO: an address is linked as it is spelled',
      find: '@${domain}`.toLowerCase()',
      replace: '@${domain}`',
      title: 'a user of the domain is linked',
    },
    {
      name: 'SSO: any hosted domain will do',
      find: "!(await owns(connection, asciiDomain(hostedDomain ?? '')))",
      replace: 'hostedDomain === null',
      title: 'Google: a private account',
    },
    {
      name: 'SSO: a hosted domain reaches PostgreSQL unchecked',
      find: "asciiDomain(hostedDomain ?? '')",
      replace: "hostedDomain ?? ''",
      title: 'Google: a private account',
    },
    {
      name: 'SSO: a hosted domain is not needed',
      find: 'if (hostedDomain !== undefined && ',
      replace: 'if (hostedDomain && ',
      title: 'Google: a private account',
    },
  ]),
  ...inFile('lib/sso/sealed-secrets.ts', [
    {
      name: 'SSO: sealed secrets are not bound',
      find: 'if (!isBound) throw',
      replace: 'if (!protectedHeader) throw',
      title: 'the secret goes to no other issuer',
    },
    {
      name: 'SSO: sealed secrets are not bound to their connection',
      find: '{ connection: id, issuer: settings.issuer }',
      replace: `{ connection: id && '', issuer: settings.issuer }`,
      title: 'the secret works at no other connection',
    },
    {
      name: 'SSO: sealed secrets are not bound to their issuer',
      find: '{ connection: id, issuer: settings.issuer }',
      replace: `{ connection: id, issuer: '' }`,
      title: 'the secret goes to no other issuer',
    },
    {
      name: 'SSO: sealed secrets are not bound to their client',
      find: 'clientId: settings.clientId }',
      replace: `clientId: '' }`,
      title: 'the secret works at no other connection',
    },
    {
      name: 'SSO: sealed keys are not bound to their issuer',
      find: '{ connection: id, issuer: settings.issuer }',
      replace: `{ connection: id, issuer: '' }`,
      tests: 'api/saml.spec',
      title: 'our private key is stored sealed',
    },
    {
      name: 'SSO: sealed keys are not bound to their certificate',
      find: 'certificate: new X509Certificate(settings.certificate).fingerprint256',
      replace: `certificate: String(X509Certificate.name)`,
      tests: 'api/saml.spec',
      title: 'our private key is stored sealed',
    },
  ]),
  ...inFile(
    'lib/sso/saml.ts',
    (
      [
        {
          name: 'SSO: the response need not be signed',
          find: `signed === 'response' || signed === 'both',\n    wantAssertion`,
          replace: 'false,\n    wantAssertion',
          title: 'a connection that wants signed: response',
        },
        {
          name: 'SSO: the assertion need not be signed',
          find: `signed === 'assertion' || signed === 'both'`,
          replace: 'false',
          title: 'a connection that wants signed: assertion',
        },
        {
          name: 'SSO: both need not be signed',
          find: `signed === 'assertion' || signed === 'both'`,
          replace: `signed === 'assertion'`,
          title: 'a connection that wants signed: both',
        },
        {
          name: 'SSO: both is the assertion alone',
          find: `signed === 'response' || signed === 'both'`,
          replace: `signed === 'response'`,
          title: 'a connection that wants signed: both',
        },
        {
          name: 'SSO: the first certificate alone counts',
          find: 'ssoUrl, certificates }',
          replace: 'ssoUrl, certificates: certificates.slice(0, 1) }',
          title: 'during a rotation',
        },
        {
          name: 'SSO: requests are always signed',
          find: '    signRequests,\n    want',
          replace: '    signRequests: signRequests || true,\n    want',
          title: 'requests are not signed unless',
        },
        {
          name: 'SSO: requests are never signed',
          find: '    signRequests,\n    want',
          replace: '    signRequests: signRequests && false,\n    want',
          title: 'requests are signed with the key',
        },
        {
          name: 'SSO: the attribute of the address is not read',
          find: '    ...(emailAttribute && { emailAttribute }),\n',
          replace: '',
          title: 'linking follows the rules of every connection',
        },
        {
          name: 'SSO: an error of the SAML provider is an invalid response',
          find: `error.check === 'status'`,
          replace: 'false',
          title: 'the provider’s own error',
        },
      ] satisfies Fault[]
    ).map((fault) => ({ ...fault, tests: 'api/saml.spec' })),
  ),
  ...inFile('app/api/auth/sso/find/route.ts', [
    {
      name: 'SSO: the sign-in page leads to any site',
      find: `nextDestination(form.get('next'), PUBLIC_URL, DASHBOARD_URL)`,
      replace: `form.get('next') ?? nextDestination('', PUBLIC_URL, DASHBOARD_URL)`,
      title: 'an address leads to its connection, while that is enabled',
    },
  ]),
  ...inFile('lib/password/reset.ts', [
    {
      name: 'SSO: an SSO-only user sets a password',
      find: 'AND (SELECT disabled_at IS NULL AND NOT sso_only FROM users WHERE id = user_id)\n        RETURNING',
      replace: 'AND (SELECT disabled_at IS NULL FROM users WHERE id = user_id)\n        RETURNING',
      tests: 'api/password-reset',
      title: 'restricted to SSO meanwhile',
    },
  ]),
  ...inFile('lib/password/sign-in.ts', [
    {
      name: 'SSO: an SSO-only user signs in with a password',
      find: 'disabled_at IS NULL AND NOT sso_only AND password_hash IS NOT NULL',
      replace: 'disabled_at IS NULL AND password_hash IS NOT NULL',
      tests: 'api/sign-in',
      title: 'every reason has the same response',
    },
    {
      name: 'SSO: a user who became SSO-only signs in with a password',
      find: 'AND disabled_at IS NULL AND NOT sso_only\n      FOR KEY SHARE',
      replace: 'AND disabled_at IS NULL\n      FOR KEY SHARE',
      tests: 'api/sign-in',
      title: 'so does a user who is disabled, or may only use SSO',
    },
  ]),
  ...inFile('lib/mail/outbox.ts', [
    {
      name: 'SSO: a user who became SSO-only gets a link',
      find: 'FROM mails WHERE id = ${id}) AND disabled_at IS NULL AND NOT sso_only',
      replace: 'FROM mails WHERE id = ${id}) AND disabled_at IS NULL',
      tests: 'api/forgot-password',
      title: 'no link is sent to a user who was disabled, or became SSO-only',
    },
  ]),
]
