#!/usr/bin/env bash
# Installs what the tests of the bindings need from npm (about 500 MB) into build/bindings, where they look for it:
# Node.js 22, Bun, Deno, better-sqlite3, libsql and @photostructure/sqlite; @electron/asar for packages.npm; TypeScript. The other
# languages come from Debian; packages.txt lists their packages under "bindings".
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

mkdir -p build/bindings
cd build/bindings
# npm 11 warns about packages whose scripts nobody has allowed; later versions do not run them.
[[ -f package.json ]] ||
  echo '{"private": true, "allowScripts": {"@photostructure/sqlite": true, "better-sqlite3": true, "bun": true, "deno": true, "node": true}}' >package.json
npm install --no-audit --no-fund node@22.23.3 better-sqlite3@12.11.1 libsql@0.5.29 @photostructure/sqlite@1.2.1 bun@1.4.5 deno@2.9.6 \
  @electron/asar@3.4.1 typescript@5.9.3
