#!/usr/bin/env bash
# One would expect: a mail filter has no opinion about a subject in Thai, Hindi or German.
# Seen with rspamd 3.4 of Debian 12: its rule R_MIXED_CHARSET counts every vowel mark of the
# subject as an attempt to mix alphabets, and with a text in English also ä, ö and é. A Thai
# subject has 5 points (at 6 an email is marked as spam), a Hindi one 3.9. Two umlauts above
# an English text have 1.2. Arabic has points only for written vowels, Hebrew has none.
# Where it matters: an email about a password in these languages is close to the spam folder
# before anything else is looked at. In Arabic, subjects can do without vowel marks. A name
# such as Zahnärzte-Portal costs points in the subject of every English email.
set -euo pipefail
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || { kill "$server"; wait "$server" || true; }; rm -rf "$folder"' EXIT
cd "$folder"
# Downloads and unpacks packages of Debian 12, and prints the versions.
unpack() {
  apt-get download "$@" >apt.log 2>&1 ||
    { apt-get update && apt-get download "$@"; } >apt.log 2>&1 ||
    { cat apt.log; exit 1; }
  for package in *.deb; do dpkg-deb -x "$package" root && rm "$package"; done
  apt-cache policy "$1" | sed -n "s/^ *Candidate:/$1/p"
}
unpack rspamd libhyperscan5 libluajit-5.1-2 libluajit-5.1-common libicu72 libglib2.0-0 \
  libsodium23 libunwind8 libarchive13

# on a port of this machine, without DNS and downloads
port=$((20000 + RANDOM % 10000))
mkdir -p own/override.d
echo "bind_socket = \"127.0.0.1:$port\"; count = 1;" >own/override.d/worker-normal.inc
for worker in controller proxy; do echo 'enabled = false;' >"own/override.d/worker-$worker.inc"; done
echo 'type = "console"; level = "error";' >own/override.d/logging.inc
echo 'dns { nameserver = ["127.0.0.1:1"]; timeout = 0.02s; retransmits = 1; }' >own/override.d/options.inc
for module in asn dkim dmarc fuzzy_check hfilter rbl rspamd_update spf; do
  echo 'enabled = false;' >"own/override.d/$module.conf"
done
share=$folder/root/usr/share/rspamd
variables=("CONFDIR=$folder/root/etc/rspamd" "SHAREDIR=$share" "RULESDIR=$share/rules"
  "PLUGINSDIR=$share/plugins" "LUALIBDIR=$share/lualib" "WWWDIR=$share/www"
  "LOCAL_CONFDIR=$folder/own" "DBDIR=$folder/own" "RUNDIR=$folder/own" "LOGDIR=$folder/own")
libraries=$folder/root/usr/lib/x86_64-linux-gnu:$folder/root/usr/lib/rspamd
LD_LIBRARY_PATH=$libraries root/usr/bin/rspamd --no-fork --insecure \
  --config "$folder/root/etc/rspamd/rspamd.conf" "${variables[@]/#/--var=}" >server.log 2>&1 &
server=$!
until curl --silent "http://127.0.0.1:$port/ping" >/dev/null; do
  kill -0 "$server" || { cat server.log; exit 1; }
  sleep 1
done

cat >seen.py <<'PY'
import json, sys, urllib.request

url = f'http://127.0.0.1:{sys.argv[1]}/checkv2'
english = 'You can choose a new password for your account with this link. It works once. '
cases = [
  ('th', 4, 'เลือกรหัสผ่านใหม่สำหรับ Dashboard', 'คุณสามารถเลือกรหัสผ่านใหม่สำหรับบัญชีของคุณด้วยลิงก์นี้ '),
  ('hi', 3, 'Dashboard के लिए नया पासवर्ड चुनें', 'आप इस लिंक से अपने खाते के लिए नया पासवर्ड चुन सकते हैं। '),
  ('ar, vowel written', 0.5, 'أصبح الرمز مطلوبًا لتسجيل الدخول إلى Dashboard', 'يمكنك اختيار كلمة مرور جديدة لحسابك عبر هذا الرابط. '),
  ('ar, not written', 0, 'أصبح الرمز مطلوبا لتسجيل الدخول إلى Dashboard', 'يمكنك اختيار كلمة مرور جديدة لحسابك عبر هذا الرابط. '),
  ('he', 0, 'בחירת סיסמה חדשה עבור Dashboard', 'אפשר לבחור סיסמה חדשה לחשבון שלך באמצעות הקישור הזה. '),
  ('de, English text', 1, 'Ihr Passwort für Dashboard wurde geändert', english),
  ('de', 0, 'Ihr Passwort für Dashboard wurde geändert', 'Das Passwort Ihres Kontos wurde geändert, und alle anderen Geräte wurden abgemeldet. '),
  ('en, name with ä', 0.5, 'New sign-in to Zahnärzte-Portal', english),
]
failed = False
for name, least, subject, text in cases:
  mail = f'''From: App <login@meadow-lantern.net>
To: ada@harbor-street.net
Subject: {subject}
Message-ID: <1@meadow-lantern.net>
Date: Sun, 29 Nov 2026 07:16:07 +0000
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

{text * 4}
'''
  request = urllib.request.Request(url, data=mail.encode())
  symbols = json.load(urllib.request.urlopen(request))['symbols']
  score = symbols.get('R_MIXED_CHARSET', {}).get('score', 0)
  print(f'{name}: {score:.2f}')
  if (score < least) if least else score:
    failed = True
    print(f'expected: {"at least " if least else ""}{least}')
sys.exit(failed)
PY
python3 seen.py "$port"
