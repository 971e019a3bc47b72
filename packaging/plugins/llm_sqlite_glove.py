"""Indexes over the embeddings that llm stores.

    llm glove-index notes               makes the index of a collection; later embeddings are in it at once
    llm glove-similar notes -c "rain"   prints what `llm similar` does, by the index
"""
import json
import pathlib
import sqlite3
import sys

import click
import llm
import sqlite_glove


def opened(database):
    path = database or str(llm.user_dir() / "embeddings.db")
    conn = sqlite3.connect(pathlib.Path(path).absolute().as_uri() + "?mode=rw", uri=True)
    sqlite_glove.load(conn, repair=True)  # llm's own migrations remake its table
    return conn


def collection_of(conn, name):
    """Its id and the dimensions of its embeddings."""
    found = conn.execute("SELECT c.id, (SELECT length(embedding) / 4 FROM embeddings e WHERE e.collection_id = c.id LIMIT 1) "
                         "FROM collections c WHERE c.name = ?", [name]).fetchone()
    if found is None or found[1] is None:
        raise click.ClickException(f"There is no collection {name!r} with embeddings")
    return found


@llm.hookimpl
def register_commands(cli):
    @cli.command(name="glove-index")
    @click.argument("collection")
    @click.option("-d", "--database", type=click.Path(exists=True, dir_okay=False), help="By default, llm's embeddings.db")
    def glove_index(collection, database):
        "Index the embeddings of a collection, and of all others with as many dimensions"
        conn = opened(database)
        _, dims = collection_of(conn, collection)
        conn.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS embeddings_{dims} USING glove_index(content='embeddings', "
                     f"rowid='collection_id, id', vector='embedding', dims={dims}, invalid='skip')")
        rows, = conn.execute("SELECT count(*) FROM embeddings WHERE length(embedding) = ?", [4 * dims]).fetchone()
        click.echo(f"embeddings_{dims}: {rows} embeddings of {dims} dimensions")

    @cli.command(name="glove-similar")
    @click.argument("collection")
    @click.argument("id", required=False)
    @click.option("-c", "--content", help="Text to compare with")
    @click.option("-n", "--number", type=int, default=10, help="Number of results")
    @click.option("-d", "--database", type=click.Path(exists=True, dir_okay=False), help="By default, llm's embeddings.db")
    def glove_similar(collection, id, content, number, database):
        "Print what `llm similar` prints, found by the index"
        conn = opened(database)
        number_of, dims = collection_of(conn, collection)
        if not id and not content:
            content = sys.stdin.read()
        if id:
            row = conn.execute("SELECT embedding FROM embeddings WHERE collection_id = ? AND id = ?", [number_of, id]).fetchone()
            if row is None:
                raise click.ClickException("ID not found in collection")
            vector = row[0]
        else:
            model, = conn.execute("SELECT model FROM collections WHERE id = ?", [number_of]).fetchone()
            vector = llm.encode(llm.get_embedding_model(model).embed(content))
        try:
            found = conn.execute(
                f"SELECT e.id, v.similarity, e.content, e.metadata FROM embeddings_{dims} v JOIN embeddings e USING (collection_id, id) WHERE v.query = ? "
                "AND v.k = ? AND v.among = (SELECT glove_keys(collection_id, id) FROM embeddings WHERE collection_id = ? AND id IS NOT ?) "
                "ORDER BY v.rank", [vector, number, number_of, id]).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            raise click.ClickException(f"There is no index yet; run llm glove-index {collection}") from None
        for key, score, text, metadata in found:
            click.echo(json.dumps({"id": key, "score": score, "content": text, "metadata": json.loads(metadata) if metadata else None}))
