#!/bin/bash
# Builds FOLDER/libsqlite3.so.0, the SQLite 3.53 that an npm package brings as source, unless it is there. Programs that
# are linked with the system's SQLite, such as Python, use it when LD_LIBRARY_PATH names the folder. Needs npm and a registry.
# Without CFLAGS it is not optimized, because that would take longer than the tests.
#
#   tests/newer_sqlite.sh FOLDER
set -euo pipefail
folder=$1
[[ ! -f $folder/libsqlite3.so.0 ]] || exit 0
mkdir -p "$folder"
"${BASH_SOURCE[0]%/*}/../packaging/npm_install.sh" "$folder" @photostructure/sqlite@1.2.1
# shellcheck disable=SC2086
cc ${CFLAGS:--O0} -shared -fPIC -w -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_UNLOCK_NOTIFY -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_FTS5 \
  -o "$folder/libsqlite3.so.0" "$folder/node_modules/@photostructure/sqlite/src/upstream/sqlite3.c" -lm
