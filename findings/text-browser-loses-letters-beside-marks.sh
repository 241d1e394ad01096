#!/usr/bin/env bash
# One would expect: a text browser prints a character without a width as it is, or drops it.
# Seen with elinks 0.13.2 of Debian 12: with -dump, it prints six broken bytes in place of the
# letter before the character and the character. lynx 2.9.0 and w3m 0.5.3 print both.
# Where it matters: mutt shows the HTML of an email with such a browser. The marks that keep a
# name apart in Arabic (U+2068, U+2069) cost the last letter of the name, a vowel mark costs a
# letter of the word. Soft hyphens and non-breaking hyphens are no problem.
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
}
unpack elinks elinks-data liblua5.1-0 libtre5 libfsplib0 libidn12 libgpm2 libperl5.36 libexpat1 \
  libbrotli1 lynx lynx-common w3m libgc1
apt-cache policy elinks lynx w3m | sed -n '/^[a-z]/p; s/^ *Candidate: /  /p'

export HOME=$folder LC_ALL=C.UTF-8 LD_LIBRARY_PATH=$folder/root/usr/lib/x86_64-linux-gnu TERM=dumb
export LYNX_CFG=$folder/root/etc/lynx/lynx.cfg
browser() { # NAME: prints the page in page.html
  case $1 in
    elinks) root/usr/bin/elinks -no-home -dump -dump-charset UTF-8 page.html ;;
    lynx) root/usr/bin/lynx -dump -assume_charset=utf-8 -display_charset=utf-8 page.html ;;
    w3m) root/usr/bin/w3m -dump -T text/html -I UTF-8 -O UTF-8 page.html ;;
  esac
}
failed=0
check() { # TEXT WORD yes|no: whether elinks prints the word
  printf '<meta charset=utf-8><p>%s</p>' "$1" >page.html
  local name seen expected
  for name in elinks lynx w3m; do
    seen=no
    if browser "$name" | grep --text --quiet --fixed-strings -- "$2"; then seen=yes; fi
    expected=yes
    [ "$name" != elinks ] || expected=$3
    echo "$name, '$2': $seen"
    [ "$seen" = "$expected" ] || { echo "expected: $expected"; failed=1; }
  done
}
check $'your \u2068Dashboard\u2069 account' 'Dashboard' no
check $'كلمة\u064b جديدة' 'كلمة' no
check $'E\u2011Mail' $'E\u2011Mail' yes
exit $failed
