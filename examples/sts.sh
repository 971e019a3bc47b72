#!/bin/bash
# Semantic textual similarity: Pearson's and Spearman's correlation of cos_sim between the vectors of two
# sentences with the score that people gave to the pair.
#
#   GLOVE_MODEL=build/glove-6b-100d.safetensors examples/sts.sh FILE...     CSV files: sentence,sentence,score
#
# GLOVE_EXTENSION names the extension (default ./build/release/glove), and GLOVE_TEXT_OPTIONS the options of
# glove_text_vec, such as '{"components":0}'.
set -euo pipefail
[[ $# -gt 0 ]] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
extension=${GLOVE_EXTENSION:-./build/release/glove}
options=${GLOVE_TEXT_OPTIONS:-{\}}

for file in "$@"; do
  [[ -r "$file" ]] || { echo "examples/sts.sh: cannot read $file" >&2; exit 1; }
  sqlite3 -batch -bail :memory: <<SQL
.load "$extension"
CREATE TABLE pair(a TEXT, b TEXT, score REAL);
.import --csv "$file" pair
WITH scored AS MATERIALIZED (
  SELECT score AS x, cos_sim(glove_text_vec(a, NULL, '${options//\'/\'\'}'),
                             glove_text_vec(b, NULL, '${options//\'/\'\'}')) AS y FROM pair
), known AS (
  SELECT x, coalesce(y, 0) AS y FROM scored    -- a sentence without a known word is similar to none
), ranked AS (
  SELECT x, y, rank() OVER (ORDER BY x) + (count(*) OVER (PARTITION BY x) - 1) / 2.0 AS rx,
               rank() OVER (ORDER BY y) + (count(*) OVER (PARTITION BY y) - 1) / 2.0 AS ry FROM known
), centred AS (
  SELECT x - avg(x) OVER () AS x, y - avg(y) OVER () AS y, rx - avg(rx) OVER () AS rx, ry - avg(ry) OVER () AS ry
    FROM ranked
)
SELECT printf('%s: Pearson %.4f, Spearman %.4f, %d pairs', '$(basename "$file")',
              sum(x * y) / sqrt(sum(x * x) * sum(y * y)), sum(rx * ry) / sqrt(sum(rx * rx) * sum(ry * ry)), count(*))
  FROM centred;
SQL
done
