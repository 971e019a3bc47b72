#!/usr/bin/env python3
"""One model on two workers of a Dask cluster: cluster.py MODEL [GLOVE-CONVERT]

MODEL is a model file or any file that glove-convert reads. Requires the Python package (README.md, Install), and dask, distributed and pandas
(Debian: python3-distributed, python3-dask, python3-pandas).
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

import dask.dataframe
import distributed
import pandas
import sqlite_glove.dask


def main(model_file, convert="glove-convert"):
    with tempfile.TemporaryDirectory() as folder:
        # Three shards and their index. On a real cluster, write them where every worker can read them.
        subprocess.run([convert, "--quiet", model_file, os.path.join(folder, "model.safetensors"), "--shards", "3"], check=True)
        index = os.path.join(folder, "model.safetensors.index.json")

        # On a real cluster: distributed.Client("tcp://SCHEDULER:8786").
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, \
                distributed.Client(cluster) as client:
            model = sqlite_glove.dask.open(client, index)
            print(f"{model.words:,} words in 3 shards on 2 workers")
            print("nearest:", [row.neighbor for row in model.nearest("piano", 3)])
            print("expr:", [row.neighbor for row in model.expr("king - man + woman", 3)])

            tags = dask.dataframe.from_pandas(pandas.DataFrame({"tag": ["bread", "rocket", "nosuchword"]}), npartitions=2)
            print(model.neighbors(tags, "tag", 2).compute().to_string())

            conn = sqlite3.connect(":memory:")
            sqlite_glove.dask.register(conn, client, model)
            print("SQL:", conn.execute("SELECT group_concat(value ->> 'neighbor') FROM json_each(glove_dask_nn('coffee', 3))").fetchone()[0])


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
