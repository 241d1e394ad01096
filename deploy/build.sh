#!/bin/sh
# deploy/build.sh FOLDER: installs the packages, builds the app, and copies what production needs into
# an empty folder. Needs Node.js and npm.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -z "$(ls -A "$folder")" ] || { echo "$folder is not empty." >&2; exit 1; }
cd "$(dirname "$0")/.."
npm ci --no-audit --no-fund
npm run build
cp -R .next/standalone/. "$folder"
