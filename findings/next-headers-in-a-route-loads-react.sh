#!/usr/bin/env bash
# One would expect: a route handler that calls headers() of next/headers, as its documentation
# shows, loads no more than one that reads request.headers.
# Seen with Next.js 16.4.6 (Turbopack): its first request loads the runtime of pages too
# (app-page-turbo.runtime.prod.js, with the renderer of React). Two routes that respond
# alike: after the first request to the one with request.headers, it is not loaded.
# Where it matters: the import can be far away, in a helper that pages and routes share, such
# as one that chooses the language of an email. Then each new function of an API on Vercel
# loads React at its first request, about 20 ms of processor time. Keep what needs
# next/headers in a file that only pages import. By default, `next start` does not show it:
# it loads all pages and routes when it starts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{ "private": true }' >package.json
npm install --silent --no-audit --no-fund next@16.4.6 react@19.3.1 react-dom@19.3.1
export NEXT_TELEMETRY_DISABLED=1
echo "Next.js $(node -p 'require("next/package.json").version'), Node.js $(node -v)"

mkdir -p app/plain app/asked
cat >app/layout.js <<'END'
export default function Layout({ children }) {
  return <html><body>{children}</body></html>
}
END
cat >app/plain/route.js <<'END'
export const dynamic = 'force-dynamic'
export async function GET(request) {
  return Response.json({ host: Boolean(request.headers.get('host')) })
}
END
cat >app/asked/route.js <<'END'
import { headers } from 'next/headers'
export async function GET() {
  return Response.json({ host: Boolean((await headers()).get('host')) })
}
END

# Like a function of Vercel: nothing is loaded before the first request.
cat >next.config.js <<'END'
module.exports = { experimental: { preloadEntriesOnStart: false } }
END
npx next build >build.log 2>&1 || { cat build.log; exit 1; }

# Adds to each response the number of loaded runtimes of pages.
cat >count.cjs <<'END'
const { ServerResponse } = require('node:http')
const { writeHead } = ServerResponse.prototype
ServerResponse.prototype.writeHead = function (...given) {
  const isRuntime = (file) => /app-page.*\.runtime\.prod\.js$/.test(file)
  this.setHeader('X-Runtimes-Of-Pages', Object.keys(require.cache).filter(isRuntime).length)
  return writeHead.apply(this, given)
}
END

port=$(node -e 'const s = require("net").createServer().listen(0, () => { console.log(s.address().port); s.close() })')
seen=
for route in plain asked; do
  node --require ./count.cjs node_modules/next/dist/bin/next start -p "$port" >"$route.log" 2>&1 &
  server=$!
  answer=$(curl --silent --include --retry 40 --retry-delay 1 --retry-connrefused "http://localhost:$port/$route")
  kill "$server" 2>/dev/null || true
  wait "$server" || true
  grep -q '{"host":true}' <<<"$answer" || { echo "$answer"; cat "$route.log"; exit 1; }
  count=$(sed -n 's/^x-runtimes-of-pages: \([0-9]*\).*/\1/ip' <<<"$answer")
  echo "/$route: $count runtimes of pages are loaded after the first request"
  seen+="$count "
done
[ "$seen" = '0 1 ' ] || { echo 'The behavior has changed.'; exit 1; }
