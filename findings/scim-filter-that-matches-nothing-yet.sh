#!/usr/bin/env bash
# One would expect: two libraries answer one SCIM PATCH alike, above all the one that
# directories send to set a value for the first time: `emails[type eq "home"].value`.
# Seen, if the user has no such address yet: scim-patch 0.8.3 creates it with the type taken
# from the filter, both for `add` and for `replace` (RFC 7644 §3.5.2.3 demands the error
# noTarget for replace). scimmy 1.3.5 answers noTarget to both, also to `add`. A filter with
# two terms, such as `type eq "home" and primary eq true`, is noTarget in both.
# Where it matters: with the strict one a first phone number never arrives, and the
# directory repeats the request in each cycle. Test such a PATCH before choosing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts scimmy@1.3.5 scim-patch@0.8.3

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { scimPatch } from 'scim-patch'
import SCIMMY from 'scimmy'

const user = () => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  id: '1',
  userName: 'ada',
  emails: [{ value: 'ada@example.com', type: 'work' }],
})
const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp']
async function patch(op, filter) {
  const operation = { op, path: `emails[${filter}].value`, value: 'ada@home.example' }
  const outcomes = [
    async () => scimPatch(user(), [operation]),
    () =>
      new SCIMMY.Messages.PatchOp({ schemas, Operations: [operation] }).apply(
        new SCIMMY.Schemas.User(user()),
      ),
  ].map((run) =>
    Promise.resolve()
      .then(run)
      .then(
        ({ emails }) => emails[1]?.type,
        (error) => error.scimCode ?? error.scimType,
      ),
  )
  const [lenient, strict] = await Promise.all(outcomes)
  console.log(`${op} ${operation.path}: scim-patch: ${lenient}; scimmy: ${strict}`)
  return [lenient, strict]
}
assert.deepEqual(await patch('add', 'type eq "home"'), ['home', 'noTarget'])
assert.deepEqual(await patch('replace', 'type eq "home"'), ['home', 'noTarget'])
assert.deepEqual(await patch('add', 'type eq "home" and primary eq true'), [
  'noTarget',
  'noTarget',
])
END
echo "scimmy 1.3.5, scim-patch 0.8.3"
node seen.mjs
