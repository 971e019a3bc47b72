"""A document store for Haystack in an SQLite file, and its retriever.

>>> store = GloveDocumentStore("docs.db")
>>> store.write_documents([Document(content="heavy rain", meta={"lang": "en"}, embedding=[1, 0, 0])])
>>> GloveEmbeddingRetriever(store, top_k=1).run([1, 0.1, 0], filters={"field": "meta.lang", "operator": "==", "value": "en"})
"""
# mypy: allow-subclassing-any, allow-untyped-decorators
import asyncio
import dataclasses
import datetime
import json
import re
from typing import Any, Dict, List, Mapping, Optional, Union

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy, apply_filter_policy
from haystack.errors import FilterError

from . import _filters as sql
from ._store import Records, floats

_COLUMNS = ["key", "content", "metadata", "other"]
_ATTRIBUTES = {field.name for field in dataclasses.fields(Document)}
_DATE = re.compile(r"\d{4}-\d\d-\d\d([Tt ].*)?", re.DOTALL)
_DATE_GLOB = "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"
Filters = Optional[Dict[str, Any]]


def _field(name: str) -> sql.Field:
    if name in ("id", "content"):
        return sql.column("key" if name == "id" else name)
    first, *rest = name.split(".")
    if rest and first != "meta":
        return sql.Field("NULL", "NULL")  # as Haystack reads a dotted name whose root is no attribute
    if first in _ATTRIBUTES and not rest:
        raise FilterError(f"a filter cannot compare {name!r}; it can compare id, content and meta.KEY")
    return sql.metadata(*(rest or [first]))


def _compared(field: sql.Field, operator: str, value: Any) -> sql.Condition:
    """Texts are compared as dates, to the millisecond; those without a time zone are taken for UTC."""
    value = value.isoformat() if isinstance(value, datetime.datetime) else value
    is_date = isinstance(value, str) and bool(_DATE.fullmatch(value))
    on_day = f"(CASE WHEN {field.type} = 'text' AND {field.value} GLOB {_DATE_GLOB} THEN julianday({field.value}) END {operator} julianday(?))"
    if operator == "=":
        return sql.any_of([sql.equal(field, value), *([(on_day, [value])] if is_date else [])])
    if isinstance(value, (list, dict)) or isinstance(value, str) and not is_date:
        raise FilterError(f"{value!r} cannot be compared by {operator}; numbers and dates in the ISO format can")
    return (on_day, [value]) if is_date else sql.ordered(field, operator, value)


def _condition(filter: Mapping[str, Any]) -> sql.Condition:
    for key in ("operator", "value" if "field" in filter else "conditions"):
        if key not in filter:
            raise FilterError(f"{key!r} is missing in the filter {filter!r}")
    operator = filter["operator"]
    if "field" not in filter:
        if operator not in ("AND", "OR", "NOT"):
            raise FilterError(f"conditions have no operator {operator!r}; there are AND, OR and NOT")
        whole = (sql.any_of if operator == "OR" else sql.all_of)([_condition(part) for part in filter["conditions"]])
        return sql.negation(whole) if operator == "NOT" else whole
    field, value = _field(filter["field"]), filter["value"]
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"the operator {operator!r} needs a list, but got {value!r}")
        dates = [_compared(field, "=", one) for one in value if _DATE.fullmatch(str(one))]
        found = sql.any_of([sql.one_of(field, value), *dates])
    elif operator in ("==", "!=", ">", ">=", "<", "<="):
        found = _compared(field, "=" if operator in ("==", "!=") else operator, value)
    else:
        raise FilterError(f"a filter has no operator {operator!r}; there are ==, !=, >, >=, <, <=, in and not in")
    return sql.negation(found) if operator in ("!=", "not in") else found


def condition_of(filters: Filters) -> sql.Condition:
    """The SQL of one of Haystack's filters."""
    return _condition(filters) if filters else sql.ALWAYS


def _document(row: Mapping[str, Any]) -> Document:
    return Document.from_dict({"id": row["key"], "content": row["content"], "meta": json.loads(row["metadata"]), "score": row.get("score"),
                               "embedding": floats(row["vector"]) if row.get("vector") else None, **json.loads(row["other"] or "{}")})


class GloveDocumentStore:
    """Documents in a table of an SQLite file, and an index over their embeddings, which are stored as float32.

    The table has the columns id, key (the document's id), content, metadata (JSON), vector and other (JSON, what else a document has).
    `index_arguments` are further ones of glove_index, such as {"metric": "dot"}. The asynchronous methods use threads.
    """

    def __init__(self, path: str = ":memory:", table: str = "document", index_arguments: Optional[Dict[str, Any]] = None) -> None:
        self.path, self.table, self.index_arguments = path, table, index_arguments
        self.records = Records(path, table, ["content", "other"], arguments=index_arguments)

    def to_dict(self) -> Dict[str, Any]:
        return dict(default_to_dict(self, path=self.path, table=self.table, index_arguments=self.index_arguments))

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "GloveDocumentStore":
        store: GloveDocumentStore = default_from_dict(cls, data)
        return store

    def create_metadata_index(self, *keys: str) -> None:
        """Makes filters on this value of the metadata fast: create_metadata_index("lang")."""
        self.records.create_metadata_index(*keys)

    def count_documents(self) -> int:
        return self.records.count()

    def count_documents_by_filter(self, filters: Filters) -> int:
        return self.records.count(condition_of(filters))

    def filter_documents(self, filters: Filters = None) -> List[Document]:
        return [_document(row) for row in self.records.rows(condition_of(filters), [*_COLUMNS, "vector"])]

    def write_documents(self, documents: List[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Writes documents; without a policy, one whose id exists is an error."""
        if not isinstance(documents, list) or not all(isinstance(document, Document) for document in documents):
            raise ValueError("write_documents() needs a list of Documents")

        def existing(keys: List[str]) -> bool:
            if policy not in (DuplicatePolicy.SKIP, DuplicatePolicy.OVERWRITE):
                raise DuplicateDocumentError(f"the document {keys[0]!r} exists already")
            return bool(policy == DuplicatePolicy.OVERWRITE)
        chosen: Dict[str, Document] = {}
        for one in documents:
            if one.id not in chosen or existing([one.id]):
                chosen[one.id] = one
        others = [{name: value for name, value in one.to_dict(flatten=False).items() if name in ("blob", "sparse_embedding") and value}
                  for one in chosen.values()]
        written = self.records.write(list(chosen), [one.embedding for one in chosen.values()], [one.meta for one in chosen.values()], {
            "content": [one.content for one in chosen.values()], "other": [sql.dumps(other) if other else None for other in others]}, existing)
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else written

    def delete_documents(self, document_ids: List[str]) -> None:
        self.records.delete(self.records.with_keys(document_ids))

    def delete_all_documents(self, recreate_index: bool = False) -> None:
        """Deletes all documents; with recreate_index, later embeddings may have other dimensions."""
        self.records.delete(sql.ALWAYS)
        if recreate_index:
            self.records.command("rebuild")

    def delete_by_filter(self, filters: Filters) -> int:
        return self.records.delete(condition_of(filters))

    def update_by_filter(self, filters: Filters, meta: Dict[str, Any]) -> int:
        """Gives the documents that match these values of the metadata, beside their others."""
        return self.records.update_metadata(condition_of(filters), meta)

    def embedding_retrieval(self, query_embedding: List[float], filters: Filters = None, top_k: int = 10, scale_score: bool = False,
                            return_embedding: bool = False) -> List[Document]:
        """The documents nearest to an embedding; scale_score makes scores of cosines lie between 0 and 1."""
        columns = [*_COLUMNS, "vector"] if return_embedding else _COLUMNS
        found = [_document(row) for row in self.records.search(query_embedding, top_k, condition_of(filters), columns)]
        return [dataclasses.replace(one, score=(1 + (one.score or 0)) / 2) for one in found] if scale_score else found

    async def count_documents_async(self) -> int:
        return await asyncio.to_thread(self.count_documents)

    async def count_documents_by_filter_async(self, filters: Filters) -> int:
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def filter_documents_async(self, filters: Filters = None) -> List[Document]:
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(self, documents: List[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: List[str]) -> None:
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self, recreate_index: bool = False) -> None:
        await asyncio.to_thread(self.delete_all_documents, recreate_index)

    async def delete_by_filter_async(self, filters: Filters) -> int:
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: Filters, meta: Dict[str, Any]) -> int:
        return await asyncio.to_thread(self.update_by_filter, filters, meta)


@component
class GloveEmbeddingRetriever:
    """Finds the documents of a GloveDocumentStore that are nearest to an embedding."""

    def __init__(self, document_store: GloveDocumentStore, filters: Filters = None, top_k: int = 10, scale_score: bool = False,
                 return_embedding: bool = False, filter_policy: Union[str, FilterPolicy] = FilterPolicy.REPLACE) -> None:
        self.document_store, self.filters, self.top_k, self.scale_score = document_store, filters, top_k, scale_score
        self.return_embedding = return_embedding
        self.filter_policy = FilterPolicy.from_str(filter_policy) if isinstance(filter_policy, str) else filter_policy

    def to_dict(self) -> Dict[str, Any]:
        return dict(default_to_dict(self, document_store=self.document_store, filters=self.filters, top_k=self.top_k,
                                    scale_score=self.scale_score, return_embedding=self.return_embedding,
                                    filter_policy=self.filter_policy.value))

    @component.output_types(documents=List[Document])
    def run(self, query_embedding: List[float], filters: Filters = None, top_k: Optional[int] = None) -> Dict[str, List[Document]]:
        wanted = apply_filter_policy(self.filter_policy, self.filters, filters)
        k = self.top_k if top_k is None else top_k
        return {"documents": self.document_store.embedding_retrieval(query_embedding, wanted, k, self.scale_score, self.return_embedding)}

    @component.output_types(documents=List[Document])
    async def run_async(self, query_embedding: List[float], filters: Filters = None, top_k: Optional[int] = None) -> Dict[str, List[Document]]:
        return await asyncio.to_thread(self.run, query_embedding, filters, top_k)
