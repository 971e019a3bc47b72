"""The extension and a model in Datasette, and a page to search each index, which only reads.

Metadata: {"plugins": {"datasette-sqlite-glove": {"model": "glove.safetensors"}}}. The page DATABASE/-/glove/INDEX?q=... shows the nearest
rows with their similarities; q is a text for an index of texts, and otherwise a vector as JSON. like=KEY asks for rows like a row. On the
page of the table itself, _glove=INDEX with _glove_q or _glove_like leaves the _glove_k (100) nearest rows, with its facets and filters.
"""
import sqlite3
import threading
import urllib.parse

import sqlite_glove
from datasette import NotFound, Response, hookimpl
from datasette.filters import FilterArguments
from datasette.utils import escape_sqlite, tilde_decode, tilde_encode
from markupsafe import escape
from sqlite_glove._sql import columns_of, definitions

_loading = threading.Lock()
_loaded = set()


@hookimpl
def prepare_connection(conn, datasette):
    sqlite_glove.load(conn)
    model = (datasette.plugin_config("datasette-sqlite-glove") or {}).get("model")
    with _loading:  # a model belongs to the process
        if model and model not in _loaded:
            conn.execute("SELECT glove_load(?)", [model])
            _loaded.add(model)


async def indexes_of(db):
    return [one for one in await db.execute_fn(definitions) if one.schema == "main"]


async def search_of(db, index, args):
    """The table that an index is over and its key, the same of the index with the nearest rows as a FROM clause, and parameters."""
    found = next((one for one in await indexes_of(db) if one.name == index), None)
    if found is None:
        raise NotFound(f"There is no index {index}")
    table, key, like, k = found.table, found.key[0], args.get("like"), args.get("k")
    if len(found.key) > 1 or like and not found.vector or k and not k.isdecimal():
        raise NotFound("A search needs an index whose key is one column, like= one of vectors, and k a number")
    asked = ":glove_q"
    if like:
        asked = f"(SELECT {escape_sqlite(found.vector)} FROM {escape_sqlite(table)} WHERE {escape_sqlite(key)} = :glove_q)"
    nearest = f"FROM {escape_sqlite(index)} v WHERE v.query = {asked} AND v.k = :glove_k"
    return table, key, "id" if found.id_is_key else key, nearest, {"glove_q": like or args.get("q") or None, "glove_k": min(int(k or 10), 2**31)}


@hookimpl
def filters_from_request(request, database, table, datasette):
    async def inner():
        index = request.args.get("_glove")
        if not index:
            return FilterArguments([])
        given = {name[len("_glove_"):]: request.args.get(name) for name in request.args if name.startswith("_glove_")}
        content, key, own_key, nearest, params = await search_of(datasette.get_database(database), index, {"k": "100", **given})
        if content != table:
            raise NotFound(f"The index {index} is not over {table}")
        return FilterArguments([f"{escape_sqlite(key)} IN (SELECT v.{escape_sqlite(own_key)} {nearest})"], params, [f"nearest to {params['glove_q']}"])
    return inner


async def page(request, datasette):
    database, index = (tilde_decode(request.url_vars[name]) for name in ("database", "index"))
    db = datasette.get_database(database)
    table, key, own_key, nearest, params = await search_of(db, index, request.args)
    await datasette.ensure_permissions(request.actor, [("view-table", (database, table)), ("view-database", database), "view-instance"])
    names, rows, problem = [], [], ""
    if params["glove_q"]:
        try:
            score = "similarity" if "similarity" in await db.execute_fn(lambda conn: columns_of(conn, index)) else "distance"
            found = await db.execute(f"SELECT round(n.{score}, 4) AS {score}, t.* FROM (SELECT v.* {nearest}) n JOIN {escape_sqlite(table)} t "
                                     f"ON t.{escape_sqlite(key)} = n.{escape_sqlite(own_key)} ORDER BY n.rank", params)
            names, rows = found.columns, found.rows
        except sqlite3.OperationalError as error:
            problem = str(error)
    shown = [place for place, name in enumerate(names) if not any(isinstance(row[place], bytes) for row in rows)]
    cells = "".join("<tr>" + "".join(f"<td>{escape(row[place])}</td>" for place in shown) + "</tr>" for row in rows)
    asked = urllib.parse.urlencode({"_glove": index, "_glove_like" if request.args.get("like") else "_glove_q": params["glove_q"] or ""})
    return Response.html(f"""<!DOCTYPE html><title>{escape(index)}</title><h1>{escape(index)}</h1>
<form><input type="search" name="q" value="{escape(request.args.get('q') or '')}"> <input type="submit" value="Search"></form>
<p>{escape(problem)}</p><table><tr>{"".join(f"<th>{escape(names[place])}</th>" for place in shown)}</tr>{cells}</table>
<p><a href="{escape(datasette.urls.table(database, table))}?{escape(asked)}">As a table, with facets</a></p>""")


@hookimpl
def register_routes():
    return [(r"/(?P<database>[^/]+)/-/glove/(?P<index>[^/]+)$", page)]


@hookimpl
def table_actions(datasette, database, table):
    async def inner():
        indexes = await indexes_of(datasette.get_database(database))
        return [{"href": datasette.urls.path(f"/{tilde_encode(database)}/-/glove/{tilde_encode(one.name)}"), "label": f"Search {one.name}"}
                for one in indexes if one.table == table]
    return inner
