"""Peewee: the extension in each connection, and an index made with the table."""
import peewee
import sqlite_glove


class Database(peewee.SqliteDatabase):
    def _add_conn_hooks(self, conn):
        super()._add_conn_hooks(conn)
        sqlite_glove.load(conn)


db = Database("peewee.db")


class Doc(peewee.Model):
    title = peewee.TextField()
    embedding = peewee.BlobField()

    class Meta:
        database = db


db.create_tables([Doc])
db.execute_sql("CREATE VIRTUAL TABLE IF NOT EXISTS doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')")
if not Doc.select().exists():
    Doc.insert_many([("red", sqlite_glove.serialize_float32([1, 0, 0])), ("green", sqlite_glove.serialize_float32([0, 1, 0]))],
                    [Doc.title, Doc.embedding]).execute()
doc_vec = peewee.Table("doc_vec", ["id", "similarity", "rank", "query", "k"])
query = sqlite_glove.serialize_float32([1, 0.2, 0])
for doc in Doc.select(Doc.title, doc_vec.similarity).join(doc_vec, on=doc_vec.id == Doc.id).where(
        doc_vec.query == query, doc_vec.k == 1).objects():
    print(doc.title, round(doc.similarity, 3))
print(sorted(name for name in db.get_tables() if not name.startswith("doc_vec")))  # leave the index's own out of introspection
