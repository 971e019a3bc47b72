"""A vector store for LlamaIndex in one SQLite file. Copy it into your project; it needs sqlite_glove and llama-index-core.

    store = GloveVectorStore(path="docs.db")
    index = VectorStoreIndex.from_documents(documents, storage_context=StorageContext.from_defaults(vector_store=store))"""
import json
import sqlite3
from typing import Any

import sqlite_glove
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQueryResult
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

OPERATORS = {"==": "= ?", "!=": "<> ?", ">": "> ?", "<": "< ?", ">=": ">= ?", "<=": "<= ?",
             "in": "IN (SELECT value FROM json_each(?))", "nin": "NOT IN (SELECT value FROM json_each(?))"}


class GloveVectorStore(BasePydanticVectorStore):
    stores_text: bool = True
    path: str = ":memory:"
    table: str = "node"
    _index: Any = PrivateAttr()

    def __init__(self, **fields):
        super().__init__(**fields)
        conn = sqlite3.connect(self.path, check_same_thread=False)
        sqlite_glove.load(conn)
        conn.execute(f"CREATE TABLE IF NOT EXISTS {self.table}(id INTEGER PRIMARY KEY, key TEXT UNIQUE, document TEXT, metadata TEXT, vector BLOB)")
        conn.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.table}_vec USING glove_index(content='{self.table}', rowid='id', vector='vector')")
        self._index = sqlite_glove.Index(conn, self.table)

    @property
    def client(self):
        return self._index.conn

    def add(self, nodes, **add_kwargs):
        rows = [(node.node_id, node.ref_doc_id, json.dumps(node_to_metadata_dict(node, remove_text=False)),
                 sqlite_glove.serialize_float32(node.get_embedding())) for node in nodes]
        with self.client:
            self.client.executemany(f"INSERT INTO {self.table}(key, document, metadata, vector) VALUES (?, ?, ?, ?) ON CONFLICT(key) DO UPDATE "
                                    "SET document = excluded.document, metadata = excluded.metadata, vector = excluded.vector", rows)
        return [row[0] for row in rows]

    def delete(self, ref_doc_id, **delete_kwargs):
        with self.client:
            self.client.execute(f"DELETE FROM {self.table} WHERE document = ?", [ref_doc_id])

    def query(self, query, **kwargs):
        terms, params = [], []
        for one in query.filters.filters if query.filters else []:
            terms.append(f"json_extract(metadata, ?) {OPERATORS[getattr(one.operator, 'value', one.operator)]}")
            params += [f'$."{one.key}"', json.dumps(one.value) if isinstance(one.value, list) else one.value]
        where = f" {getattr(query.filters.condition, 'value', query.filters.condition).upper()} ".join(terms) if terms else ""
        for column, keys in (("document", query.doc_ids), ("key", query.node_ids)):
            if keys:
                where = (f"({where}) AND " if where else "") + f"{column} IN ({', '.join('?' * len(keys))})"
                params += keys
        found = self._index.search(query.query_embedding, query.similarity_top_k, where=where or None, params=params, rows="dicts")
        return VectorStoreQueryResult(nodes=[metadata_dict_to_node(json.loads(row["metadata"])) for row in found],
                                      similarities=[row["similarity"] for row in found], ids=[row["key"] for row in found])
