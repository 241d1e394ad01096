import { openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'
import { runScript } from '../support/servers/command'

// Tests the filters and the columns of `npm run users -- list`.

/** Users of two domains, of whom some have a second factor, a connection or a sign-in. */
const rows = `
  INSERT INTO connections (slug, name, kind, settings) VALUES
    ('acme', 'Acme', 'oidc', '{}'), ('beta', 'Beta', 'saml', '{}');
  INSERT INTO users (email, email_domain, password_hash, second_factor_at)
    SELECT email, split_part(email, '@', 2), hash, CASE WHEN email LIKE 'bob@%' THEN now() END
    FROM (VALUES ('ada@acme.example', NULL), ('bob@acme.example', 'x'), ('joe@acme.example', 'x'),
      ('eve@xn--bcher-kva.example', NULL)) AS given (email, hash);
  INSERT INTO identities (connection_id, issuer, subject, user_id)
    SELECT connections.id, 'https://idp.example.com', email, users.id FROM connections, users
    WHERE email LIKE 'ada@%' OR (email LIKE 'eve@%' AND slug = 'beta');
  INSERT INTO sessions (user_id, method, connection_id, device, created_at, expires_at, revoked_at, parent_id, client_id)
    SELECT users.id, given.method, connections.id, device, began::timestamptz,
      '2100-01-01', '2026-01-01', parent, parent
    FROM (VALUES ('ada', 'sso', 'beta', NULL, '2026-11-01T10:00:00Z', NULL), ('ada', 'sso', 'acme', NULL, '2026-11-02T10:00:00Z', NULL),
      ('ada', NULL, NULL, NULL, '2026-11-03T10:00:00Z', gen_random_uuid()),
      ('bob', 'password', NULL, 'Firefox on Linux', '2026-11-01T10:00:00Z', NULL))
      AS given (name, method, slug, device, began, parent)
    JOIN users ON email LIKE name || '@%' LEFT JOIN connections ON connections.slug = given.slug`

test('list shows the second factor, the connections and the last sign-in, and has filters', async () => {
  const { sql, drop, url } = await openOwnDatabase()
  const list = async (...flags: string[]) =>
    runScript(['users', 'list', ...flags], '', { DATABASE_URL: url() })
  const names = async (...flags: string[]) =>
    [...(await list(...flags)).stdout.matchAll(/^\w+(?=@)/gm)].map(String)
  try {
    await sql(rows)
    expect((await list()).stdout).toBe(
      [
        // the newest sign-in in a browser counts, although the session has ended
        'ada@acme.example  linked to acme, beta  last sign-in 2026-11-02T10:00:00.000Z, acme',
        'bob@acme.example  second factor  last sign-in 2026-11-01T10:00:00.000Z, password, Firefox on Linux',
        'eve@xn--bcher-kva.example  linked to beta',
        'joe@acme.example\n',
      ].join('\n'),
    )
    expect(await names('--domain', 'Acme.example')).toEqual(['ada', 'bob', 'joe'])
    expect(await names('--domain', 'bücher.example')).toEqual(['eve'])
    expect(await names('--domain', 'other.example')).toEqual([])
    expect(await names('--without-second-factor')).toEqual(['ada', 'eve', 'joe'])
    const both = ['--domain', 'acme.example', '--without-second-factor']
    expect(await names(...both)).toEqual(['ada', 'joe'])

    const [ada, joe] = (await list(...both, '--json')).stdout.trim().split('\n')
    expect(JSON.parse(ada!)).toEqual({
      id: expect.any(String),
      email: 'ada@acme.example',
      disabledAt: null,
      ssoOnly: false,
      hasPassword: false,
      hasSecondFactor: false,
      connections: ['acme', 'beta'],
      lastSignIn: {
        createdAt: '2026-11-02T10:00:00.000Z',
        method: 'sso',
        connection: 'acme',
        device: null,
      },
    })
    expect(JSON.parse(joe!)).toMatchObject({ hasPassword: true, lastSignIn: null })
    expect(await list('--domain', 'x')).toMatchObject({
      code: 2,
      stderr: '“x” is not a domain, like example.com.\n',
    })
  } finally {
    await drop()
  }
})

test('list --domain prints all users of a large domain', async () => {
  const { sql, drop, url } = await openOwnDatabase()
  try {
    await sql(
      `INSERT INTO users (email, email_domain) SELECT number || '@' || domain, domain
       FROM generate_series(1, 2001) number, unnest(ARRAY['a.example', 'b.example']) AS domain`,
    )
    const flags = ['--domain', 'b.example']
    const listed = await runScript(['users', 'list', ...flags], '', {
      DATABASE_URL: url(),
    })
    expect(listed.stdout.match(/@b\.example$/gm)).toHaveLength(2001)
    expect(listed.stdout).not.toContain('a.example')
  } finally {
    await drop()
  }
})
