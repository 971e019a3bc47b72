"""A vector store for LangChain in one SQLite file. Copy it into your project; it needs sqlite_glove and langchain-core.
    store = GloveStore.from_texts(texts, embedding, metadatas, path="docs.db")
    store.similarity_search("rain", k=3, filter={"lang": "en"})"""
import json
import sqlite3
import uuid

import sqlite_glove
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore


class GloveStore(VectorStore):
    def __init__(self, embedding, path=":memory:", table="doc"):
        self.embedding, self.table, self.conn = embedding, table, sqlite3.connect(path, check_same_thread=False)
        sqlite_glove.load(self.conn)
        self.conn.execute(f"CREATE TABLE IF NOT EXISTS {table}(id INTEGER PRIMARY KEY, key TEXT UNIQUE, body TEXT, metadata TEXT, vector BLOB)")
        self.conn.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {table}_vec USING glove_index(content='{table}', rowid='id', vector='vector')")
        self.index = sqlite_glove.Index(self.conn, table)

    embeddings = property(lambda self: self.embedding)

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, *, ids=None, **kwargs):
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(self, texts, metadatas=None, *, ids=None, **kwargs):
        texts = list(texts)
        keys = [key or str(uuid.uuid4()) for key in ids or [None] * len(texts)]
        rows = zip(keys, texts, map(json.dumps, metadatas or [{}] * len(texts)),
                   map(sqlite_glove.serialize_float32, self.embedding.embed_documents(texts)))
        with self.conn:
            self.conn.executemany(f"INSERT INTO {self.table}(key, body, metadata, vector) VALUES (?, ?, ?, ?) ON CONFLICT(key) DO UPDATE "
                                  "SET body = excluded.body, metadata = excluded.metadata, vector = excluded.vector", rows)
        return keys

    def delete(self, ids=None, **kwargs):
        with self.conn:
            self.conn.execute(f"DELETE FROM {self.table} WHERE ?1 IS NULL OR key IN (SELECT value FROM json_each(?1))", [ids if ids is None else json.dumps(ids)])
        return True

    def similarity_search_by_vector(self, embedding, k=4, filter=None, **kwargs):
        return [document for document, _ in self._nearest(embedding, k, filter)]

    def similarity_search(self, query, k=4, filter=None, **kwargs):
        return self.similarity_search_by_vector(self.embedding.embed_query(query), k, filter)

    def similarity_search_with_score(self, query, k=4, filter=None, **kwargs):
        return self._nearest(self.embedding.embed_query(query), k, filter)

    def _select_relevance_score_fn(self):
        return lambda similarity: (1 + similarity) / 2

    def _nearest(self, vector, k, filter):
        where = " AND ".join(["json_extract(metadata, ?) = ?"] * len(filter)) if filter else None
        params = [value for name, wanted in (filter or {}).items() for value in (f'$."{name}"', wanted)]
        found = self.index.search(vector, k, where=where, params=params, rows="dicts")
        return [(Document(id=row["key"], page_content=row["body"], metadata=json.loads(row["metadata"])), row["similarity"]) for row in found]
