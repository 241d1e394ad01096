#!/usr/bin/env bash
# One would expect: a library can read the public key that it has written.
# Seen with PyJWT 2.6.0 of Debian 12: of the P-256 keys whose x or y begins with a zero byte,
# one in 128, `to_jwk` drops that byte (RFC 7518 §6.2.1.2 demands all 32), and its own
# `from_jwk` rejects the result. Authlib 1.2.0 drops it as well, and also from the thumbprint,
# so that the same key has another `kid` than elsewhere. jwcrypto 1.1.0 keeps 32 bytes.
# Where it matters: a set of keys that works in every test, until one rotation in 128 makes
# all tokens invalid at some of the services. Check the length once after making a key.
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
unpack python3-jwt python3-cryptography python3-cffi-backend
unpack python3-authlib
unpack python3-jwcrypto python3-deprecated python3-wrapt

cat >seen.py <<'END'
import base64, json
from authlib.jose import JsonWebKey
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jwcrypto import jwk
from jwt.algorithms import ECAlgorithm

def length(text):
    return len(base64.urlsafe_b64decode(text + '=='))

def check(number):
    key = ec.derive_private_key(number, ec.SECP256R1()).public_key()
    pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    written = ECAlgorithm.to_jwk(key)
    try:
        ECAlgorithm.from_jwk(written)
        outcome = 'read'
    except Exception as error:
        outcome = str(error)
    authlib, other = JsonWebKey.import_key(pem), jwk.JWK.from_pem(pem)
    lengths = [length(json.loads(each)['x']) for each in (written, authlib.as_json(), other.export_public())]
    same = authlib.thumbprint() == other.thumbprint()
    print(f'private key {number}: bytes of x in PyJWT, Authlib, jwcrypto: {lengths}')
    print(f'  PyJWT reads its own: {outcome}; equal thumbprints: {same}')
    return lengths, outcome, same

assert check(1000001) == ([32, 32, 32], 'read', True)
assert check(1000210) == ([31, 31, 32], 'Coords should be 32 bytes for curve P-256', False)
END
PYTHONPATH=root/usr/lib/python3/dist-packages /usr/bin/python3 seen.py
