#!/usr/bin/env bash
# Installs npm packages into a folder without running their scripts, and prints nothing unless that fails. By itself npm asks a
# registry that does not answer again for up to a quarter of an hour; this ends after a few seconds where there is none, and after
# five minutes in any case.
#
#   packaging/npm_install.sh FOLDER PACKAGE@VERSION...
set -euo pipefail
if [[ $# -lt 2 ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 2; fi
folder=$1
shift
mkdir -p "$folder"
said=$(timeout 300 npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts --fetch-retries 1 \
  --fetch-retry-mintimeout 2000 --fetch-retry-maxtimeout 2000 "$@" 2>&1) && exit 0
echo "npm_install.sh: npm cannot install $*: $(tail -n 20 <<<"$said")" >&2
exit 1
