"""The extension in every connection of sqlite-utils, and a command that makes an index.

    sqlite-utils glove-index docs.db doc --vector embedding
    sqlite-utils query docs.db "SELECT id, similarity FROM doc_vec WHERE query = '[1, 0]' AND k = 3"
"""
import click
import sqlite_glove
from sqlite_utils import Database, hookimpl


@hookimpl
def prepare_connection(conn):
    sqlite_glove.load(conn)


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def literal(text):
    return "'" + text.replace("'", "''") + "'"


@hookimpl
def register_commands(cli):
    @cli.command(name="glove-index")
    @click.argument("path", type=click.Path(exists=True, dir_okay=False))
    @click.argument("table")
    @click.option("--vector", help="Column with the vectors, as JSON arrays or float32 BLOBs")
    @click.option("--text", "texts", multiple=True, help="Column of texts that a model makes vectors of; may be repeated")
    @click.option("--model", type=click.Path(exists=True), help="File of the model; queries need it, too: set GLOVE_MODEL")
    @click.option("--name", help="Name of the index, by default TABLE_vec")
    def glove_index(path, table, vector, texts, model, name):
        "Make the rows of TABLE searchable by their vectors or texts"
        if bool(vector) == bool(texts):
            raise click.ClickException("Give the column of the vectors by --vector, or columns of texts by --text")
        db = Database(path)
        if not db[table].exists():
            raise click.ClickException(f"There is no table {table!r}")
        if db[table].use_rowid:
            raise click.ClickException(f"The table {table!r} has no primary key, which an index needs; sqlite-utils transform --pk makes one")
        given = {"content": table, "rowid": ", ".join(map(quoted, db[table].pks))}
        given.update({"vector": vector} if vector else {"text": ", ".join(map(quoted, texts))})
        if model:
            given["model"] = db.execute("SELECT glove_load(?)", [model]).fetchone()[0]
        name = name or table + "_vec"
        arguments = ", ".join(f"{key}={literal(value)}" for key, value in given.items())
        try:
            with db.conn:
                db.execute(f'CREATE VIRTUAL TABLE {quoted(name)} USING glove_index({arguments})')
        except db.conn.OperationalError as error:
            raise click.ClickException(str(error)) from None
        rows, state = db.execute("SELECT rows, state FROM glove_indexes WHERE schema = 'main' AND name = ?", [name]).fetchone()
        click.echo(f"{name}: {rows} rows, {state}")
