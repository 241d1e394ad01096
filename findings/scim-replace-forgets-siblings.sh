#!/usr/bin/env bash
# One would expect: a SCIM PATCH that replaces `name` with only a givenName leaves the
# familyName alone. RFC 7644 §3.5.2.3: sub-attributes that are not specified stay unchanged.
# Seen with scimmy 1.3.5: the familyName is gone, without an error. scim-patch 0.8.3 keeps it.
# The spelling without a path, {"name.givenName": ...}, is right in both.
# Where it matters: a directory that changes a first name deletes the last name, and the
# next comparison of both sides writes it again. Merge complex attributes before the patch.
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
  name: { givenName: 'Ada', familyName: 'Byron' },
})
const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp']
async function patch(operation) {
  const merged = scimPatch(user(), [operation]).name
  const result = await new SCIMMY.Messages.PatchOp({
    schemas,
    Operations: [operation],
  }).apply(new SCIMMY.Schemas.User(user()))
  const names = [merged, JSON.parse(JSON.stringify(result.name))]
  console.log(
    `${JSON.stringify(operation)}\n  scim-patch: ${JSON.stringify(names[0])}\n  scimmy:     ${JSON.stringify(names[1])}`,
  )
  return names
}
const both = { givenName: 'Augusta', familyName: 'Byron' }
assert.deepEqual(await patch({ op: 'replace', value: { 'name.givenName': 'Augusta' } }), [
  both,
  both,
])
assert.deepEqual(
  await patch({ op: 'replace', path: 'name', value: { givenName: 'Augusta' } }),
  [both, { givenName: 'Augusta' }],
)
END
echo "scimmy 1.3.5, scim-patch 0.8.3"
node seen.mjs
