import { type OwnDatabase, openOwnDatabase } from '../support/databases/own-database'
import { expect, test } from '../support/fixtures'
import { runInTerminal, runScript } from '../support/servers/command'

// Tests what commands that delete something print before, and what they ask in a terminal.

let database: OwnDatabase
test.beforeEach(async () => {
  database = await openOwnDatabase()
})
test.afterEach(() => database.drop())

type Deletion = { table: string; rows: string; command: string[]; effect: string }

const deletions: Record<string, Deletion> = {
  user: {
    table: 'users',
    rows: `INSERT INTO users (email, email_domain, password_hash, second_factor_at)
        VALUES ('ada@example.com', 'example.com', 'x', now());
      INSERT INTO sessions (user_id, expires_at, revoked_at) SELECT id, now() + interval '1 day', ended
        FROM users, unnest(ARRAY[NULL, NULL, now()]) AS ended`,
    command: ['users', 'delete', 'ada@example.com'],
    effect:
      'This deletes ada@example.com with live sessions: 2, links to identity providers: 0, a password, a second factor, and the events about the user. It can’t be undone.',
  },
  connection: {
    table: 'connections',
    rows: `INSERT INTO connections (slug, name, kind, settings) VALUES ('acme', 'Acme', 'oidc', '{}');
      INSERT INTO connection_domains SELECT 'acme.example', id, now() FROM connections;
      INSERT INTO users (email, email_domain) VALUES ('ada@acme.example', 'acme.example');
      INSERT INTO identities (connection_id, issuer, subject, user_id)
        SELECT connections.id, 'https://idp.example.com', 'ada', users.id FROM connections, users`,
    command: ['connections', 'remove', 'acme'],
    effect:
      'This removes acme, and ends its sessions. Users linked to it: 1. Domains: acme.example (live). It can’t be undone.',
  },
  client: {
    table: `clients WHERE slug = 'shop'`,
    rows: `INSERT INTO clients (slug, public, redirect_uris) VALUES ('shop', false, '{https://shop.example/cb}');
      INSERT INTO client_secrets (client_id, secret_hash, hint) SELECT id, sha256('shop'), 'x' FROM clients WHERE slug = 'shop'`,
    command: ['clients', 'remove', 'shop'],
    effect:
      'This removes shop: users can no longer sign in at https://shop.example/cb. Live secrets: 1. It can’t be undone.',
  },
  widget: {
    table: 'widgets',
    rows: `INSERT INTO widgets (slug, name) VALUES ('chat', 'Chat');
      INSERT INTO widget_origins SELECT id, 'https://www.example.com' FROM widgets;
      INSERT INTO widget_tokens (widget_id, token_hash, hint) SELECT id, sha256('x'), 'x' FROM widgets`,
    command: ['widgets', 'remove', 'chat'],
    effect:
      'This removes chat. Origins whose pages use it: https://www.example.com. Live tokens: 1. It can’t be undone.',
  },
}

for (const [name, { table, rows, command, effect }] of Object.entries(deletions)) {
  test(`the deletion of a ${name} prints its effect, and asks in a terminal`, async () => {
    const settings = { DATABASE_URL: database.url() }
    const isLeft = async () => (await database.sql(`SELECT FROM ${table}`)).length > 0
    const type = (typed: string, ...flags: string[]) =>
      runInTerminal([...command, ...flags], typed, settings)
    await database.sql(rows)

    // the last one is Ctrl-D
    for (const typed of ['n\n', '\n', 'yes please\n', '']) {
      const refused = await type(typed)
      expect(refused.stdout.replaceAll('\r', '')).toContain(`${effect}\nContinue? [y/N] `)
      expect(refused.stdout, typed).toContain('Nothing was changed.')
      expect([refused.code, await isLeft()], typed).toEqual([1, true])
    }

    expect((await type('Y\n')).code).toBe(0)
    expect(await isLeft()).toBe(false)

    await database.sql('TRUNCATE users CASCADE')
    await database.sql(rows)
    const sure = await type('', '--yes')
    expect(sure.stdout).toContain(effect)
    expect(sure.stdout).not.toContain('Continue?')
    expect([sure.code, await isLeft()]).toEqual([0, false])

    await database.sql('TRUNCATE users CASCADE')
    await database.sql(rows)
    const { code, stderr } = await runScript(command, 'n\n', settings) // no terminal
    expect([code, stderr, await isLeft()]).toEqual([0, '', false])
  })
}
