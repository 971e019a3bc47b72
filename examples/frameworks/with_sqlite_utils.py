"""sqlite-utils: an index over a table, also after transform() has remade it."""
import sqlite3, sqlite_glove, sqlite_utils
conn = sqlite3.connect("utils.db")
sqlite_glove.load(conn)
db = sqlite_utils.Database(conn)
db["doc"].insert_all(({"id": i, "vector": sqlite_glove.serialize_float32(v)} for i, v in enumerate([[1, 0], [0, 1]])), pk="id")
db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vector')")
db["doc"].transform(rename={"vector": "embedding"})
db.execute("DROP TABLE doc_vec")  # its column has another name now
db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')")
print(list(db.query("SELECT id, similarity FROM doc_vec WHERE query = '[1, 0]' AND k = 1")))
