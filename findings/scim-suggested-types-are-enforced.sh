#!/usr/bin/env bash
# One would expect: a SCIM user whose phone or address has a `type` of its own is accepted.
# RFC 7643 §2.4 and §7 call the canonical values suggestions, and `type` is not case-exact.
# Seen with scimmy 1.3.5: `"type": "Work"` and `"type": "mobile"` of an email address reject
# the whole user with a TypeError, although its own schema says that case does not matter.
# Where it matters: most users of a directory arrive, a few never do, and the error names an
# attribute that perhaps nobody reads. Drop or lower-case `type` before the schema sees it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts scimmy@1.3.5

cat >seen.mjs <<'END'
import assert from 'node:assert'
import SCIMMY from 'scimmy'

function read(type) {
  const emails = [{ value: 'ada@example.com', type }]
  let outcome
  try {
    outcome = `accepted, type ${new SCIMMY.Schemas.User({ userName: 'ada', emails }).emails[0].type}`
  } catch (error) {
    outcome = `${error.name}: ${error.message}`
  }
  console.log(`type "${type}": ${outcome}`)
  return outcome
}
assert.equal(read('work'), 'accepted, type work')
assert.match(read('Work'), /^TypeError.*non-canonical/)
assert.match(read('mobile'), /^TypeError.*non-canonical/)
const { attributes } = SCIMMY.Schemas.User.definition
const type = attributes
  .find(({ name }) => name === 'emails')
  .subAttributes.find(({ name }) => name === 'type')
console.log(`its own schema says caseExact: ${type.config.caseExact}`)
assert.equal(type.config.caseExact, false)
END
echo "scimmy 1.3.5"
node seen.mjs
