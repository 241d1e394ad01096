#!/usr/bin/env bash
# One would expect: a proxy that does not know the status 103 (Early Hints, RFC 8297) ignores
# it and waits for the response. RFC 9110 §15.2 lets a proxy drop any 1xx response.
# Seen with Debian 12: Varnish 7.1.1 takes it for a failed fetch and responds with 503.
# lighttpd 1.4.69 forwards it correctly over HTTP/1.1, and over HTTP/2 breaks the stream with
# PROTOCOL_ERROR. h2o 2.2.5 drops it, and nghttpx 1.52.0 forwards it; with both, the page
# arrives in either version of HTTP.
# Where it matters: `response.writeEarlyHints()` of Node.js on a sign-in page. Direct requests
# and tests with curl work, and a browser behind the proxy gets an error for each page.
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
  for package in varnish lighttpd h2o nghttp2-proxy; do
    echo "$package $(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')"
  done
}
# Varnish compiles its configuration, so it needs gcc.
unpack varnish libvarnishapi3 lighttpd lighttpd-mod-openssl libnettle8 libxxhash0 h2o libh2o0.13 libh2o-evloop0.13 \
  libwslay1 nghttp2-proxy libnghttp2-14 libev4 libc-ares2 libjemalloc2 libxml2

cat >backend.mjs <<'END'
import fs from 'node:fs'
import http from 'node:http'

const server = http.createServer((req, res) => {
  res.writeEarlyHints({ link: '</page.css>; rel=preload; as=style' })
  setTimeout(() => res.end('the page'), 50)
})
server.listen(0, '127.0.0.1', () => fs.writeFileSync('port', String(server.address().port)))
END
node backend.mjs &
pids=$!
trap 'kill $pids 2>/dev/null; wait; rm -rf "$folder"' EXIT
for _ in $(seq 50); do [ -s port ] && break; sleep 0.1; done
backend=$(cat port)
ports=$(node -e '
  const servers = Array(7).fill(0).map((port) => require("net").createServer().listen(port, "127.0.0.1"))
  setTimeout(() => {
    console.log(servers.map((each) => each.address().port).join(" "))
    for (const each of servers) each.close()
  }, 50)')
read -r varnish lighttpd lighttpd2 h2o h2o2 nghttpx nghttpx2 <<<"$ports"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
cat key.pem cert.pem >both.pem
libraries=$folder/root/usr/lib/x86_64-linux-gnu

printf '%s\n' 'vcl 4.1;' "backend app { .host = \"127.0.0.1\"; .port = \"$backend\"; }" \
  'sub vcl_recv { return (pass); }' >app.vcl
printf '%s\n' "server.document-root = \"$folder\"" "server.port = $lighttpd" 'server.bind = "127.0.0.1"' \
  'server.modules = ("mod_proxy", "mod_openssl")' \
  "proxy.server = (\"\" => ((\"host\" => \"127.0.0.1\", \"port\" => $backend)))" \
  "\$SERVER[\"socket\"] == \"127.0.0.1:$lighttpd2\" { ssl.engine = \"enable\"" "ssl.pemfile = \"$folder/both.pem\" }" \
  >lighttpd.conf
printf '%s\n' 'hosts:' '  app:' "    listen: {host: 127.0.0.1, port: $h2o}" \
  "    paths: {/: {proxy.reverse.url: \"http://127.0.0.1:$backend/\"}}" '  tls:' \
  "    listen: {host: 127.0.0.1, port: $h2o2, ssl: {key-file: $folder/key.pem, certificate-file: $folder/cert.pem, ocsp-update-interval: 0}}" \
  "    paths: {/: {proxy.reverse.url: \"http://127.0.0.1:$backend/\"}}" 'num-threads: 1' >h2o.conf
[ "$(id -u)" != 0 ] || echo 'user: root' >>h2o.conf
start() {
  LD_LIBRARY_PATH=$libraries:$libraries/varnish:$folder/root/lib/x86_64-linux-gnu "$@" >>proxies.log 2>&1 &
  pids="$pids $!"
}
start root/usr/sbin/varnishd -j none -F -a "127.0.0.1:$varnish" -f "$folder/app.vcl" -n "$folder/varnish" -s malloc,10m
start root/usr/sbin/lighttpd -D -f lighttpd.conf -m root/usr/lib/lighttpd
start root/usr/bin/h2o -c h2o.conf
start root/usr/sbin/nghttpx "-f127.0.0.1,$nghttpx;no-tls" "-f127.0.0.1,$nghttpx2" "-b127.0.0.1,$backend" \
  --workers=1 --conf=/dev/null key.pem cert.pem
for port in $ports; do
  for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
done

# $1: the name, $2: the URL, $3: what arrives
get() {
  local seen
  seen=$(curl -ski -m 9 "$2" | tr -d '\r' | sed -n 's/^HTTP\/[0-9.]* \([0-9]*\).*/\1/p; /^the page$/p' | xargs) || true
  seen="${seen:-nothing}, exit code $(curl -sk -m 9 -o /dev/null "$2" && echo 0 || echo $?)"
  echo "$1: $seen"
  [ "$seen" = "$3" ]
}
get 'without a proxy' "http://127.0.0.1:$backend" '103 200 the page, exit code 0'
get 'Varnish, HTTP/1.1' "http://127.0.0.1:$varnish" '503, exit code 0'
get 'lighttpd, HTTP/1.1' "http://127.0.0.1:$lighttpd" '103 200 the page, exit code 0'
get 'lighttpd, HTTP/2' "https://127.0.0.1:$lighttpd2" 'nothing, exit code 92'
get 'h2o, HTTP/1.1' "http://127.0.0.1:$h2o" '200 the page, exit code 0'
get 'h2o, HTTP/2' "https://127.0.0.1:$h2o2" '200 the page, exit code 0'
get 'nghttpx, HTTP/1.1' "http://127.0.0.1:$nghttpx" '103 200 the page, exit code 0'
get 'nghttpx, HTTP/2' "https://127.0.0.1:$nghttpx2" '103 200 the page, exit code 0'
