#!/usr/bin/env bash
# One would expect: a listener of `document` that a small script adds before React gets every
# click, whatever React does. The HTML of the server is complete, and a link in it works.
# Seen with react-dom 19.3.1: while a part of the page (`Suspense`, `lazy`) waits for its script,
# React stops click and input events of that part at its root, in the capture phase. A listener
# in the bubble phase of `document` never hears of them, and nothing is replayed for it later.
# The link is followed all the same. Before React has started, and as soon as the script is
# there, the listener hears each click.
# Where it matters: counters, consent and "not now" links, menus of other libraries: on slow
# phones some clicks have no effect, and no error says so. Listen in the capture phase.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts react@19.3.1 react-dom@19.3.1 jsdom@26.1.0

cat >seen.mjs <<'END'
import assert from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { JSDOM } from 'jsdom'
import { createElement as h, lazy, Suspense } from 'react'
import { version } from 'react-dom'
import { renderToReadableStream } from 'react-dom/server'

const Part = () => h('p', null, h('a', { href: '#later', id: 'later' }, 'Not now'), h('input', { id: 'name' }))
const page = (part) => h('main', null, h('a', { href: '#ready', id: 'ready' }, 'Home'), h(Suspense, null, h(part)))
const stream = await renderToReadableStream(page(Part))
await stream.allReady
const html = await new Response(stream).text()

const { window } = new JSDOM(`<div id="root">${html}</div>`, { url: 'https://example.org/' })
const { document } = window
globalThis.navigator ??= window.navigator // Node.js 20 has none
Object.assign(globalThis, { window, document })
const heard = { bubble: [], capture: [] }
for (const phase of ['bubble', 'capture'])
  for (const type of ['click', 'input', 'submit'])
    document.addEventListener(type, ({ target }) => heard[phase].push(`${type} ${target.id}`), phase === 'capture')

async function act(when) {
  for (const list of Object.values(heard)) list.length = 0
  window.location.hash = ''
  document.querySelector('#ready').click()
  document.querySelector('#later').click()
  document.querySelector('#name').dispatchEvent(new window.Event('input', { bubbles: true }))
  await sleep(50)
  const seen = { bubble: heard.bubble.join(', '), capture: heard.capture.join(', '), hash: window.location.hash }
  console.log(when, seen)
  return seen
}

const all = 'click ready, click later, input name'
const first = await act('before React:')
assert.deepEqual(first, { bubble: all, capture: all, hash: '#later' })

const { hydrateRoot } = await import('react-dom/client')
let arrive
const script = new Promise((resolve) => (arrive = () => resolve({ default: Part })))
hydrateRoot(document.querySelector('#root'), page(lazy(() => script)))
await sleep(300)
const waiting = await act(`react-dom ${version}, the part waits for its script:`)
assert.deepEqual(waiting, { bubble: 'click ready', capture: all, hash: '#later' })

heard.bubble.length = 0
arrive()
await sleep(500)
console.log('replayed for the listener when the script has arrived:', heard.bubble)
assert.deepEqual(heard.bubble, [])
assert.equal((await act('the part is ready:')).bubble, all)
END
NODE_ENV=production node seen.mjs
