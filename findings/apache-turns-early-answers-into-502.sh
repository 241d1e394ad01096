#!/usr/bin/env bash
# One would expect: a server that answers 413 before it has read a large body, and says
# `Connection: close`, tells the client behind a reverse proxy just that.
# Seen with Apache 2.4 of Debian 12 (mod_proxy_http): the client gets 502, in every one of ten
# tries, because Apache fails to send the rest of the body and does not look for an answer.
# Without `Connection: close` the client gets 413. Its log has "pass request body failed".
# Where it matters: limits on the size of a form or of a SAML response. The page that explains
# the limit is never shown, and the alert says that the app is down. Keep the connection.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# Downloads and unpacks packages of Debian 12, and prints the versions.
unpack() {
  apt-get download "$@" >apt.log 2>&1 ||
    { apt-get update && apt-get download "$@"; } >apt.log 2>&1 ||
    { cat apt.log; exit 1; }
  for package in *.deb; do dpkg-deb -x "$package" root && rm "$package"; done
  apt-cache policy "$1" | sed -n "s/^ *Candidate:/$1/p"
}
unpack apache2-bin libapr1 libaprutil1 libnghttp2-14 libbrotli1 libjansson4 liblua5.3-0

cat >backend.mjs <<'END'
import http from 'node:http'

http
  .createServer((req, res) => {
    if (req.url === '/close') res.setHeader('connection', 'close')
    res.writeHead(413).end('too large')
  })
  .listen(process.argv[2], '127.0.0.1')
END
ports=$(node -e '
  const servers = [0, 0].map((port) => require("net").createServer().listen(port, "127.0.0.1"))
  setTimeout(() => {
    console.log(servers.map((each) => each.address().port).join(" "))
    for (const each of servers) each.close()
  }, 50)')
read -r backend front <<<"$ports"
modules=$folder/root/usr/lib/apache2/modules
printf '%s\n' 'ServerName localhost' "PidFile $folder/pid" "ErrorLog $folder/error.log" "Listen 127.0.0.1:$front" \
  "LoadModule mpm_event_module $modules/mod_mpm_event.so" "LoadModule authz_core_module $modules/mod_authz_core.so" \
  "LoadModule proxy_module $modules/mod_proxy.so" "LoadModule proxy_http_module $modules/mod_proxy_http.so" \
  'Mutex posixsem' 'User nobody' 'Group nogroup' "ProxyPass / http://127.0.0.1:$backend/" >apache.conf
export LD_LIBRARY_PATH="$folder/root/usr/lib/x86_64-linux-gnu"
LD_LIBRARY_PATH='' node backend.mjs "$backend" &
node=$!
root/usr/sbin/apache2 -f "$folder/apache.conf" -DFOREGROUND &
apache=$!
trap 'kill $node $apache 2>/dev/null; wait; rm -rf "$folder"' EXIT
sleep 2

head -c 20000000 /dev/zero >body
post() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    LD_LIBRARY_PATH='' curl -s -m 9 -o /dev/null -w '%{http_code} ' -H 'Expect:' \
      --data-binary @body "http://127.0.0.1:$front/$1"
  done
}
kept=$(post keep)
closed=$(post close)
echo "keep-alive: $kept"
echo "Connection: close: $closed"
[ "$(tr ' ' '\n' <<<"$kept" | sort -u | xargs)" = 413 ]
[ "$(tr ' ' '\n' <<<"$closed" | sort -u | xargs)" = 502 ]
