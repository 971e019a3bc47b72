"""pandas: to_sql() makes no primary key, which an index needs, so the table is made first and appended to."""
import sqlite3, pandas, sqlite_glove
conn = sqlite3.connect("frame.db")
sqlite_glove.load(conn)
frame = pandas.DataFrame({"title": ["red", "green"], "vector": map(sqlite_glove.serialize_float32, [[1, 0, 0], [0, 1, 0]])})
conn.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, title TEXT, vector BLOB)")
frame.to_sql("doc", conn, if_exists="append", index_label="id")
conn.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vector')")
print(sqlite_glove.Index(conn, "doc").search([1, 0.5, 0], 1))
