#!/usr/bin/env bash
# One would expect: the rules that a distribution packages have the scores of the project.
# Seen with SpamAssassin 4.0.1 of Debian 12: hundreds of rules in 72_active.cf have their score
# only as a comment, because the scores are in a file that `sa-update` downloads. Debian does
# not turn sa-update on. Without it, each of these rules has exactly 1 point.
# Where it matters: an email from a host under .online has 3 points for its domain alone, and
# more for its link, where comments name limits of 0.5 and 2. A test with Debian's package
# finds other scores than a server that updates its rules.
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
unpack spamassassin libhtml-parser-perl libhtml-tagset-perl libnet-dns-perl libnetaddr-ip-perl
export HOME=$folder LC_ALL=C.UTF-8
export PERL5LIB=$folder/root/usr/share/perl5:$folder/root/usr/lib/x86_64-linux-gnu/perl5/5.36
rules=root/usr/share/spamassassin

# The published rules, without those of other rules (__) and those in trial (T_).
grep -hoE '^ *(meta|header|body|uri|rawbody|full) +[A-SU-Z][A-Z0-9_]+ ' "$rules/72_active.cf" |
  awk '{ print $2 }' | sort -u >active
grep -hE '^ *score +' "$rules"/*.cf | awk '{ print $2 }' | sort -u >scored
without=$(comm -23 active scored | wc -l)
echo "rules in 72_active.cf: $(wc -l <active), without a score: $without"

cat >reset.eml <<'END_OF_EMAIL'
Received: from relay.meadow-lantern.online (relay.meadow-lantern.online [198.18.0.25])
 by mx.harbor-street.net with ESMTPS id 4Wd5xK2 for <ada@harbor-street.net>;
 Sun, 29 Nov 2026 07:16:07 +0000
From: App <login@meadow-lantern.online>
To: ada@harbor-street.net
Subject: Choose a new password
Message-ID: <7914dd12-1a41-4ec9-bab1-2f0d0942fa58@login.meadow-lantern.online>
Date: Sun, 29 Nov 2026 07:16:07 +0000
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8

You can choose a new password for your account with this link. It works once.
https://login.meadow-lantern.online/reset-password?token=ANjT8Rc50vNTcJmYK0Z0wp
END_OF_EMAIL
root/usr/bin/spamassassin --local --nocreate-prefs --siteconfigpath root/etc/spamassassin \
  --configpath "$rules" --cf='use_bayes 0' --cf='report_safe 0' --cf='fold_headers 0' \
  --cf='add_header all Scores _TESTSSCORES_' reset.eml 2>log | sed -n 's/^X-Spam-Scores: //p' |
  tr , '\n' | tee scores
grep -hE "# *score +(FROM_SUSPICIOUS_NTLD|FROM_SUSPICIOUS_NTLD_FP|PDS_OTHER_BAD_TLD) " "$rules/72_active.cf"

[ "$without" -gt 300 ] || { echo 'expected: more than 300 rules without a score'; exit 1; }
[ "$(grep -c '=1$' scores)" -ge 3 ] || { echo 'expected: three rules with 1 point'; cat log; exit 1; }
