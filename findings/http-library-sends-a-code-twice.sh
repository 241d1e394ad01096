#!/usr/bin/env bash
# One would expect: an HTTP library without a setting for retries sends a POST once, at least
# on a new connection.
# Seen on Debian 12: if the server closes the connection without a response, httpclient
# 2.8.3 (Ruby) and httplib2 0.20.4 (Python) send the POST a second time, then raise the error
# of the second. Rack::OAuth2 1.21.3, on which omniauth_openid_connect is built, uses
# httpclient, so it sends the code to the token endpoint twice. Net::HTTP and urllib send once.
# Where it matters: a provider that dies after it has stored that the code was used. It gets
# the code again after its restart, takes this for a replay, and revokes the session.
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
  for package in "$1" "$2" "$3"; do
    echo "$package $(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')"
  done
}
unpack ruby-httpclient python3-httplib2 ruby-rack-oauth2 python3-pyparsing ruby-rack ruby-activesupport \
  ruby-attr-required ruby-json-jwt ruby-aes-key-wrap ruby-bindata ruby-i18n ruby-tzinfo ruby-concurrent \
  ruby-zeitwerk ruby-minitest

cat >server.py <<'END'
import socket

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    request = b""
    while b"one-time" not in request:
        part = connection.recv(4096)
        if not part:
            break
        request += part
    else:
        with open("received", "a") as file:
            file.write("x")
    connection.close()
END
/usr/bin/python3 server.py >port &
server=$!
trap 'kill $server; wait $server || true; rm -rf "$folder"' EXIT
for _ in $(seq 50); do [ -s port ] && break; sleep 0.1; done
url=http://127.0.0.1:$(cat port)/token
export url RUBYLIB PYTHONPATH=root/usr/lib/python3/dist-packages
RUBYLIB=$(find "$folder/root/usr/lib/ruby/vendor_ruby" "$folder"/root/usr/share/rubygems-integration/all/gems/*/lib \
  -maxdepth 0 2>/dev/null | paste -sd:)

# $1: the name, $2: how often the POST arrives, then the command
try() {
  local name=$1 expected=$2
  : >received
  shift 2
  "$@" >output 2>&1
  echo "$name: received $(wc -c <received) times, $(tail -1 output)"
  [ "$(wc -c <received)" = "$expected" ]
}
try httpclient 2 /usr/bin/ruby -e '
  require "httpclient"
  begin HTTPClient.new.post(ENV["url"], "code=one-time"); rescue => error; puts error.class; end'
try Rack::OAuth2 2 /usr/bin/ruby -e '
  require "rack/oauth2"
  client = Rack::OAuth2::Client.new(identifier: "app", secret: "secret", token_endpoint: ENV["url"])
  client.authorization_code = "one-time"
  begin client.access_token!; rescue => error; puts error.class; end'
try Net::HTTP 1 /usr/bin/ruby -e '
  require "net/http"
  begin Net::HTTP.post(URI(ENV["url"]), "code=one-time"); rescue => error; puts error.class; end'
try httplib2 2 /usr/bin/python3 -c '
import os, httplib2
try: httplib2.Http().request(os.environ["url"], "POST", body="code=one-time")
except Exception as error: print(type(error).__name__)'
try urllib 1 /usr/bin/python3 -c '
import os, urllib.request
try: urllib.request.urlopen(os.environ["url"], b"code=one-time")
except Exception as error: print(type(error).__name__)'
