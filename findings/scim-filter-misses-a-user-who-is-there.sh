#!/usr/bin/env bash
# One would expect: a library for SCIM filters knows the two rules of names: `userName` has no
# letter case (RFC 7643 §4.1.1), and an attribute may be written with the URN of its schema
# (RFC 7644 §3.10), such as urn:ietf:params:scim:schemas:core:2.0:User:userName.
# Seen: scimmy 1.3.5, scim2-filter 0.2.0 and scim2-parse-filter 0.2.10 compare the value with
# its case, and find nobody for the URN, without an error. scim-query-filter-parser 2.0.4 is
# right about the case, and throws at a URN. A time with another offset than the stored one is
# compared as text by all but scimmy.
# Where it matters: a directory that asks whether a user is there gets an empty list, creates
# the user, and gets 409, or a second user. Lower-case and strip both sides before the library.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts \
  scimmy@1.3.5 scim2-filter@0.2.0 scim2-parse-filter@0.2.10 scim-query-filter-parser@2.0.4

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { compileFilter } from 'scim-query-filter-parser'
import scim2Filter from 'scim2-filter'
import scim2ParseFilter from 'scim2-parse-filter'
import SCIMMY from 'scimmy'

const user = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
  id: '1',
  userName: 'ada',
  meta: { lastModified: '2026-05-13T04:42:34Z' },
}
const libraries = {
  scimmy: (filter) => new SCIMMY.Types.Filter(filter).match([user]).length === 1,
  'scim2-filter': (filter) => scim2Filter.filter(scim2Filter.parse(filter))(user),
  'scim2-parse-filter': (filter) => scim2ParseFilter.filter(scim2ParseFilter.parse(filter))(user),
  'scim-query-filter-parser': (filter) => compileFilter(filter)(user),
}
function ask(filter) {
  const found = Object.entries(libraries).map(([name, matches]) => {
    try {
      return [name, matches(filter)]
    } catch {
      return [name, 'error']
    }
  })
  console.log(filter)
  console.log(`  ${found.map(([name, outcome]) => `${name}: ${outcome}`).join(', ')}`)
  return found.map(([, outcome]) => outcome)
}
assert.deepEqual(ask('userName eq "ada"'), [true, true, true, true])
assert.deepEqual(ask('USERNAME eq "ada"'), [true, true, true, true])
assert.deepEqual(ask('userName eq "Ada"'), [false, false, false, true])
const urn = 'urn:ietf:params:scim:schemas:core:2.0:User:userName'
assert.deepEqual(ask(`${urn} eq "ada"`), [false, false, false, 'error'])
assert.deepEqual(ask('meta.lastModified gt "2026-05-13T05:42:34+02:00"'), [true, false, false, false])
END
echo "scimmy 1.3.5, scim2-filter 0.2.0, scim2-parse-filter 0.2.10, scim-query-filter-parser 2.0.4"
node seen.mjs
