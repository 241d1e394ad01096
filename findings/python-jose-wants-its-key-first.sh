#!/usr/bin/env bash
# One would expect: a token whose `kid` names an RSA key of a key set is verified with it.
# Seen with python-jose 3.3.0 of Debian 12: `jwt.decode` looks at the keys in the order of the
# set and ignores `kid`. If an EC key stands first, it raises "Incorrect key type" and never
# gets to the RSA key. The same set in the other order verifies the token.
# Where it matters: a provider that adds an EC key in front of the old one breaks clients
# that never use it. Select the key by `kid` and pass only that one.
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
unpack python3-jose python3-cryptography python3-cffi-backend python3-ecdsa python3-rsa python3-pyasn1 python3-six

cat >seen.py <<'END'
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jose import jwk, jwt

def pair(key, algorithm, kid):
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    private = key.private_bytes(*form, serialization.NoEncryption()).decode()
    public = jwk.construct(private, algorithm).public_key().to_dict()
    text = lambda value: value.decode() if isinstance(value, bytes) else value
    return private, {**{name: text(value) for name, value in public.items()}, 'kid': kid, 'use': 'sig'}

_, first = pair(ec.generate_private_key(ec.SECP256R1()), 'ES256', 'new')
private, second = pair(rsa.generate_private_key(65537, 2048), 'RS256', 'old')
token = jwt.encode({'sub': 'ada'}, private, algorithm='RS256', headers={'kid': 'old'})

def check(*keys):
    try:
        outcome = jwt.decode(token, {'keys': list(keys)}, algorithms=['RS256'])['sub']
    except Exception as error:
        outcome = f'{type(error).__name__}: {error}'
    print(f"{', '.join(key['kty'] for key in keys)}: {outcome}")
    return outcome

assert check(second) == 'ada'
assert check(second, first) == 'ada'
assert check(first, second) == "JWKError: Incorrect key type. Expected: 'RSA', Received: EC"
END
PYTHONPATH=root/usr/lib/python3/dist-packages /usr/bin/python3 seen.py
