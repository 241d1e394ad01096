#!/usr/bin/env bash
# One would expect: a mail filter knows mail of machines by `Auto-Submitted` (RFC 3834), or by
# senders such as no-reply@.
# Seen with procmail 3.22 of Debian 12: its macro ^FROM_DAEMON, which people use against loops
# of vacation replies and to file away bounces, knows neither. It does match the senders
# admin@, system@, root@ and postmaster@, and `Precedence: bulk` and `list` from anybody.
# Where it matters: a reset link from admin@ or system@, or with a Precedence header meant to
# be polite, lands in the folder for bounces; one from no-reply@ gets a vacation reply.
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
unpack procmail

printf '%s\n' "DEFAULT=$folder/inbox" ':0' '* ^FROM_DAEMON' "$folder/machines" >filter
failed=0
check() { # EXPECTED SENDER HEADER
  rm -f inbox machines
  printf 'From: App <%s>\nTo: ada@example.org\nSubject: Reset your password\n%s\n\nhello\n' "$2" "$3" |
    root/usr/bin/procmail -m "$folder/filter"
  local seen=inbox
  [ ! -f machines ] || seen=machines
  echo "$2, $3: $seen"
  [ "$seen" = "$1" ] || { echo "expected: $1"; failed=1; }
}
check inbox no-reply@app.example 'Auto-Submitted: auto-generated'
check inbox login@app.example 'Auto-Submitted: auto-generated'
check inbox login@app.example 'List-Id: <news.app.example>'
check machines admin@app.example 'X-Any: thing'
check machines system@app.example 'X-Any: thing'
check machines login@app.example 'Precedence: bulk'
exit $failed
