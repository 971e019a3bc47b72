"""sizes.py PACKAGE: fails if the module of the installed package is larger than docs/install.md says."""
import gzip
import os
import sys

LIMIT, GZIPPED_LIMIT = 2_500_000, 990_000


def main():
    with open(os.path.join(sys.argv[1], "sqlite-glove.wasm"), "rb") as file:
        module = file.read()
    gzipped = len(gzip.compress(module, 9))
    print(f"sqlite-glove.wasm: {len(module):,} bytes, {gzipped:,} gzipped")
    if len(module) > LIMIT or gzipped > GZIPPED_LIMIT:
        sys.exit(f"the limits are {LIMIT:,} and {GZIPPED_LIMIT:,} bytes")


if __name__ == "__main__":
    main()
