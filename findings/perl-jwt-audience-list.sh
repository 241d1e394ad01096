#!/usr/bin/env bash
# One would expect: a library that checks the audience of a JWT finds it in a list as well. RFC
# 7519 §4.1.3 calls the list the general case, and a text the special one.
# Seen with Crypt::JWT 0.034 of Debian 12: `verify_aud => 'app'` rejects the list ["app",
# "other"] with "aud claim scalar check failed", and a pattern rejects it too. Only a sub is
# given the list. PyJWT 2.6.0, ruby-jwt 2.5 and jose 6.2.18 accept both forms.
# Where it matters: a provider writes a list as soon as a second API or client is added. Tokens
# that worked for years are then invalid at this one service.
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
unpack libcrypt-jwt-perl python3-jwt ruby-jwt libcryptx-perl libjson-perl libtommath1
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts jose@6.2.18
export PYTHONPATH=root/usr/lib/python3/dist-packages RUBYLIB=root/usr/lib/ruby/vendor_ruby
PERL5LIB=$(find "$folder/root/usr/share" "$folder/root/usr/lib" -type d \( -name perl5 -o -path '*/perl5/5.*' \) | paste -sd:)
export PERL5LIB secret=a-secret-of-more-than-32-characters

cat >sign.mjs <<'END'
import { SignJWT } from 'jose'

const aud = process.argv[2] === 'list' ? ['app', 'other'] : 'app'
const token = new SignJWT({ sub: 'ada', aud }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h')
console.log(await token.sign(new TextEncoder().encode(process.env.secret)))
END
cat >verify.pl <<'END'
use Crypt::JWT 'decode_jwt';
my %checks = (
  text    => 'app',
  pattern => qr/^app$/,
  sub     => sub { my ($aud) = @_; grep { $_ eq 'app' } ref $aud ? @$aud : $aud },
);
my $claims = eval { decode_jwt(token => $ARGV[0], key => $ENV{secret}, accepted_alg => 'HS256', verify_aud => $checks{$ARGV[1]}) };
print $claims ? $claims->{sub} : $@ =~ s/ at .*//sr;
END
cat >verify.mjs <<'END'
import { jwtVerify } from 'jose'

const key = new TextEncoder().encode(process.env.secret)
console.log((await jwtVerify(process.argv[2], key, { audience: 'app' })).payload.sub)
END

# $1: the name, $2: what it says about a list, then the command that verifies a token
try() {
  local name=$1 expected=$2 one many
  shift 2
  one=$("$@" "$text")
  many=$("$@" "$list")
  echo "$name: one audience: $one; a list: $many"
  [ "$one" = ada ] && [ "$many" = "$expected" ]
}
text=$(node sign.mjs text)
list=$(node sign.mjs list)
perl() { /usr/bin/perl verify.pl "$2" "$1"; }
try 'Crypt::JWT, text' 'JWT: aud claim scalar check failed' perl text
try 'Crypt::JWT, pattern' 'JWT: aud claim re check failed' perl pattern
try 'Crypt::JWT, sub' ada perl sub
try PyJWT ada /usr/bin/python3 -c '
import os, sys, jwt
print(jwt.decode(sys.argv[1], os.environ["secret"], algorithms=["HS256"], audience="app")["sub"])'
try ruby-jwt ada /usr/bin/ruby -e '
require "jwt"
puts JWT.decode(ARGV[0], ENV["secret"], true, algorithms: ["HS256"], aud: "app", verify_aud: true).first["sub"]'
try jose ada node verify.mjs
