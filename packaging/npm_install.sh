#!/usr/bin/env bash
# Installs npm packages into a folder without running their scripts, and prints nothing unless that fails. npm now and then waits
# for an answer that never comes; it is stopped after a minute then, and started again twice, with more time.
#
#   packaging/npm_install.sh FOLDER PACKAGE@VERSION...
set -euo pipefail
if [[ $# -lt 2 ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 2; fi
folder=$1
shift
mkdir -p "$folder"
for seconds in 60 120 240; do
  said=$(timeout "$seconds" npm install --prefix "$folder" --no-audit --no-fund --ignore-scripts "$@" 2>&1) && exit 0 || code=$?
  [[ $code == 124 ]] || break
  said="npm did not end within $seconds seconds"
done
echo "npm_install.sh: npm cannot install $*: $(tail -n 20 <<<"$said")" >&2
exit 1
