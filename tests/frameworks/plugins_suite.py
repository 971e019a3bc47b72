"""The plugins for Datasette, llm and sqlite-utils, installed from their wheels beside the environment."""
import importlib
import json
import os
import sqlite3
import subprocess
import sys

import numpy
import pytest
import sqlite_glove
from click.testing import CliRunner

PROJECT = os.environ["GLOVE_PROJECT"]


@pytest.fixture(scope="module", autouse=True)
def model(tmp_path_factory):
    """Installs the plugins where the programs, whose commands run in this process, find them; returns a model."""
    folder = tmp_path_factory.mktemp("plugins")
    wheels = subprocess.run([sys.executable, os.path.join(PROJECT, "packaging/plugins.py"), str(folder)], capture_output=True, text=True, check=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder / "site"), *wheels.stdout.split()],
                   check=True)
    sys.path.append(str(folder / "site"))
    os.environ["LLM_USER_PATH"] = str(folder / "llm")
    sample = os.path.join(PROJECT, "examples/data/glove-6b-100d-20k.txt.gz")
    subprocess.run([os.environ["GLOVE_CONVERT"], "-q", sample, str(folder / "glove.safetensors")], check=True)
    return str(folder / "glove.safetensors")


def run(program, *command, status=0):
    done = CliRunner().invoke(importlib.import_module(program + ".cli").cli, command)
    assert done.exit_code == status, (done.output, done.exception)
    return done.output


@pytest.fixture()
def path(tmp_path):
    path = str(tmp_path / "docs.db")
    with sqlite3.connect(path) as conn:
        conn.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT, lang TEXT, vector TEXT)")
        conn.execute("CREATE TABLE heap(body TEXT)")
        conn.executemany("INSERT INTO doc(body, lang, vector) VALUES (?, ?, ?)", [
            ("Heavy <b>rain</b> along the coast.", "en", "[1, 0]"), ("La pluie.", "fr", "[0.9, 0.1]"), ("The bank raised its rates.", "en", "[0, 1]")])
    return path


def test_sqlite_utils(model, path):
    assert "sqlite-utils-sqlite-glove" in run("sqlite_utils", "plugins")
    assert run("sqlite_utils", "glove-index", path, "doc", "--vector", "vector") == "doc_vec: 3 rows, current\n"
    sql = "SELECT id, round(similarity, 2) FROM doc_vec WHERE query = '[1, 0]' AND k = 2"
    assert run("sqlite_utils", "query", path, sql, "--csv", "--no-headers") == "1,1.0\n2,0.99\n"
    assert run("sqlite_utils", "glove-index", path, "doc", "--text", "body", "--model", model, "--name", "doc_text") == "doc_text: 3 rows, current\n"
    assert json.loads(run("sqlite_utils", "query", path, "SELECT id FROM doc_text WHERE query = 'interest of a bank' AND k = 1")) == [{"id": 3}]
    with sqlite3.connect(path) as conn:
        conn.execute("""CREATE TABLE "odd, one"("the, key" TEXT, 'b"c' INT, "a, text" TEXT, PRIMARY KEY("the, key", 'b"c'))""")
        conn.execute("INSERT INTO \"odd, one\" VALUES ('k', 1, 'rain')")
    odd = ["odd, one", "--text", "a, text", "--model", model, "--name", 'odd"vec']
    assert run("sqlite_utils", "glove-index", path, *odd) == 'odd"vec: 1 rows, current\n'
    for arguments, part in ((["doc"], "--text"), (["none", "--vector", "v"], "no table 'none'"), (["heap", "--vector", "body"], "no primary key"),
                            (["doc", "--vector", "vector"], "already exists"), (["doc", "--vector", "nothing", "--name", "x"], "nothing")):
        assert part in run("sqlite_utils", "glove-index", path, *arguments, status=1)


def test_llm(tmp_path):
    """`llm similar` compares every row; the same rows come from the index, of collections with equal and with other dimensions."""
    import llm
    import sqlite_utils
    path = str(tmp_path / "embeddings #1 50%?.db")
    source = numpy.random.default_rng(3)
    collections = {name: {f"{name}{row}": source.normal(size=dims).tolist() for row in range(120)} for name, dims in (("a", 16), ("b", 16), ("c", 8))}

    class Given(llm.EmbeddingModel):
        """Embeds the id of a row as its vector."""
        model_id = "given"

        def embed_batch(self, texts):
            return [next(rows[text] for rows in collections.values() if text in rows) for text in texts]

    def embed(name, keys):
        collection = llm.Collection(name, sqlite_utils.Database(path, execute_plugins=False), model=Given())
        collection.embed_multi_with_metadata([(key, key, {"of": name}) for key in keys], store=True)
    for name, rows in collections.items():
        embed(name, rows)
    assert "run llm glove-index a" in run("llm", "glove-similar", "a", "a5", "-d", path, status=1)
    assert run("llm", "glove-index", "a", "-d", path) == "embeddings_16: 240 embeddings of 16 dimensions\n"
    assert run("llm", "glove-index", "c", "-d", path) == "embeddings_8: 120 embeddings of 8 dimensions\n"
    collections["b"]["new"] = collections["b"]["b7"]
    embed("b", ["new"])  # without the extension, and the index follows
    for name in collections:
        theirs, ours = ([json.loads(line) for line in run("llm", command, name, f"{name}7", "-n", "6", "-d", path).splitlines()]
                        for command in ("similar", "glove-similar"))
        assert [{**row, "score": round(row["score"], 5)} for row in ours] == [{**row, "score": round(row["score"], 5)} for row in theirs]
        assert len(ours) == 6 and (name != "b" or ours[0]["id"] == "new") and ours[0]["metadata"] == {"of": name}
    for arguments, part in ((["none", "x"], "no collection 'none'"), (["a", "none"], "ID not found")):
        assert part in run("llm", "glove-similar", *arguments, "-d", path, status=1)


async def test_datasette(model, path):
    from datasette.app import Datasette
    run("sqlite_utils", "glove-index", path, "doc", "--vector", "vector")
    run("sqlite_utils", "glove-index", path, "doc", "--text", "body", "--model", model, "--name", "doc_text")
    with sqlite3.connect(path) as conn:
        sqlite_glove.load(conn)
        conn.execute("CREATE TABLE odd(\"the key\" TEXT PRIMARY KEY, emb)")
        conn.execute("INSERT INTO odd VALUES ('a', '[1, 0]'), ('b', '[0, 1]')")
        conn.execute("CREATE VIRTUAL TABLE odd_vec USING glove_index(content=\"odd\" /* it's, a table */, rowid='\"the key\"', vector=\"emb\", metric=l2)")
    with open(path, "rb") as file:
        before = file.read()
    datasette = Datasette([path], metadata={"plugins": {"datasette-sqlite-glove": {"model": model}}})
    await datasette.invoke_startup()

    async def page(address, status=200):
        answer = await datasette.client.get(address)
        assert answer.status_code == status, answer.text
        return answer.json() if ".json" in address else answer.text
    found = await page("/docs/-/glove/doc_text?q=a+storm&k=1")
    assert "Heavy &lt;b&gt;rain&lt;/b&gt;" in found and "similarity" in found and "bank" not in found
    found = await page("/docs/-/glove/doc_vec?like=1&k=2")
    assert found.index("Heavy") < found.index("pluie") and "bank" not in found
    found = await page("/docs/doc.json?_shape=objects&_glove=doc_vec&_glove_q=[1,0]&_glove_k=2&_facet=lang")
    assert [row["id"] for row in found["rows"]] == [1, 2]
    assert {one["value"]: one["count"] for one in found["facet_results"]["lang"]["results"]} == {"en": 1, "fr": 1}
    found = await page("/docs/doc?_glove=doc_text&_glove_q=a+storm&_facet=lang&_glove_k=1")
    assert "nearest to a storm" in found and "pluie" not in found
    found = await page("/docs/-/glove/odd_vec?like=b&k=1")
    assert "<th>distance</th>" in found and "<td>b</td>" in found and "<td>a</td>" not in found
    found = await page("/docs/odd.json?_glove=odd_vec&_glove_q=[1,0]&_glove_k=1&_shape=objects")
    assert [row["the key"] for row in found["rows"]] == ["a"]
    assert "/docs/-/glove/odd_vec" in await page("/docs/odd")
    found = await page("/docs/-/glove/doc_vec?q=%3Cscript%3E")
    assert "&lt;script&gt;" in found and "<script>" not in found and "doc_vec:" in found
    assert (await page("/docs.json?sql=select+id+from+doc_vec+where+query='[0,1]'+and+k=1&_shape=arrays"))["rows"] == [[3]]
    found = await page("/docs/doc.json?_glove=doc_vec&_glove_like=3&_glove_k=1&_shape=objects")
    assert [row["id"] for row in found["rows"]] == [3]
    assert "/docs/-/glove/doc_vec" in await page("/docs/doc")
    await page("/docs/-/glove/doc_vec")
    for address in ("none?q=a", "doc_vec?q=a&k=x", "doc_vec?q=a&k=%C2%B2", "doc_text?like=1"):
        await page("/docs/-/glove/" + address, 404)
    with open(path, "rb") as file:
        assert file.read() == before
