#!/bin/bash
# Semantic textual similarity: Pearson's and Spearman's correlation of cos_sim between the vectors of two
# sentences with the score that people gave to the pair.
#
#   GLOVE_MODEL=build/glove-6b-100d.safetensors examples/sts.sh FILE...
#   GLOVE_MODEL=potion-base-8M examples/sts.sh FILE...     # the folder of a static embedding model, or with
#                                                          # GLOVE_ONNXRUNTIME=LIBRARY of a neural encoder
#
# Each line of a file is sentence,sentence,score as CSV, or the three separated by tabs and without quoting.
# Lines whose score is no number, such as a header or an unscored pair, are left out and counted.
# GLOVE_EXTENSION names the extension (default ./build/release/glove), and GLOVE_TEXT_OPTIONS the options of
# glove_text_vec, such as '{"components":0}'.
set -euo pipefail
[[ $# -gt 0 ]] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
extension=${GLOVE_EXTENSION:-./build/release/glove}
options=${GLOVE_TEXT_OPTIONS:-}
csv=$(mktemp)
trap 'rm -f "$csv"' EXIT

for file in "$@"; do
  [[ -r "$file" ]] || { echo "examples/sts.sh: cannot read $file" >&2; exit 1; }
  name=$(basename "$file")
  # Removes a byte-order mark and empty lines. A file whose first line has two tabs becomes CSV.
  clean=$'1s/^\xef\xbb\xbf//; /^[[:space:]]*$/d'
  if head -n 1 "$file" | grep -q $'\t.*\t'; then clean+='; s/\r$//; s/"/""/g; s/\t/","/g; s/^/"/; s/$/"/'; fi
  LC_ALL=C sed "$clean" "$file" >"$csv"
  sqlite3 -batch -bail :memory: <<SQL
.load "$extension"
CREATE TABLE pair(a TEXT, b TEXT, score REAL);
.import --csv "$csv" pair
WITH scored AS MATERIALIZED (
  SELECT score AS x, cos_sim(glove_encode(a, NULL, nullif('${options//\'/\'\'}', '')),
                             glove_encode(b, NULL, nullif('${options//\'/\'\'}', ''))) AS y FROM pair WHERE typeof(score) = 'real'
), known AS (
  SELECT x, coalesce(y, 0) AS y FROM scored    -- a sentence without a known token is similar to none
), ranked AS (
  SELECT x, y, rank() OVER (ORDER BY x) + (count(*) OVER (PARTITION BY x) - 1) / 2.0 AS rx,
               rank() OVER (ORDER BY y) + (count(*) OVER (PARTITION BY y) - 1) / 2.0 AS ry FROM known
), centred AS (
  SELECT x - avg(x) OVER () AS x, y - avg(y) OVER () AS y, rx - avg(rx) OVER () AS rx, ry - avg(ry) OVER () AS ry
    FROM ranked
)
SELECT iif(count(*) < 2, '${name//\'/\'\'}: fewer than two pairs with a score',
              printf('%s: Pearson %.4f, Spearman %.4f, %d pairs', '${name//\'/\'\'}',
              sum(x * y) / sqrt(sum(x * x) * sum(y * y)), sum(rx * ry) / sqrt(sum(rx * rx) * sum(ry * ry)), count(*))) ||
       (SELECT iif(count(*) > 0, printf(', %d lines without a score', count(*)), '') FROM pair WHERE typeof(score) <> 'real')
  FROM centred;
SQL
done
