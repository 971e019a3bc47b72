"""A vector store for LangChain in an SQLite file.

>>> store = GloveVectorStore(embedding, "docs.db")
>>> store.add_texts(["heavy rain", "low interest"], [{"lang": "en"}, {"lang": "en"}])
>>> store.similarity_search("a storm", k=1, filter={"lang": "en"})
"""
# mypy: allow-subclassing-any
import json
import uuid
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from . import _filters as filters
from ._store import Records

_COLUMNS = ["key", "content", "metadata"]


def _between(field: filters.Field, value: Any) -> filters.Condition:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ValueError(f"the operator $between has {value!r}; it must be a list of the least and the greatest value")
    return filters.all_of([filters.ordered(field, ">=", value[0]), filters.ordered(field, "<=", value[1])])


_OPERATORS: Dict[str, Callable[[filters.Field, Any], filters.Condition]] = {
    "$eq": filters.equal,
    "$ne": lambda field, value: filters.negation(filters.equal(field, value)),
    "$gt": lambda field, value: filters.ordered(field, ">", value),
    "$gte": lambda field, value: filters.ordered(field, ">=", value),
    "$lt": lambda field, value: filters.ordered(field, "<", value),
    "$lte": lambda field, value: filters.ordered(field, "<=", value),
    "$between": _between,
    "$in": filters.one_of,
    "$nin": lambda field, value: filters.negation(filters.one_of(field, value)),
    "$exists": lambda field, value: (f"{field.type} IS {'NOT ' if value else ''}NULL", []),
    "$contains": filters.contains,
}


def condition_of(filter: Optional[Mapping[str, Any]]) -> filters.Condition:
    """The SQL of a filter such as {"lang": "en", "$or": [{"year": {"$gte": 2020}}, {"tags": {"$contains": "new"}}]}.

    As in MongoDB, a key that a document lacks equals None, and $ne and $nin hold for it.
    """
    if filter is not None and not isinstance(filter, Mapping):
        raise TypeError(f"the filter is {filter!r}; it must be a dict, such as {{'lang': 'en'}}")
    conditions: List[filters.Condition] = []
    for key, wanted in (filter or {}).items():
        if not isinstance(key, str):
            raise TypeError(f"the filter has the key {key!r}; it must be a text")
        if key in ("$and", "$or"):
            conditions.append((filters.all_of if key == "$and" else filters.any_of)([condition_of(part) for part in wanted]))
        elif key == "$not":
            conditions.append(filters.negation(condition_of(wanted)))
        elif key.startswith("$"):
            raise ValueError(f"a filter has no {key!r} outside a key; there are $and, $or and $not")
        elif isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted):
            for name, value in wanted.items():
                if name not in _OPERATORS:
                    raise ValueError(f"a filter has no operator {name!r}; there are {', '.join(_OPERATORS)}")
                conditions.append(_OPERATORS[name](filters.metadata(key), value))
        else:
            conditions.append(filters.equal(filters.metadata(key), wanted))
    return filters.all_of(conditions)


class GloveVectorStore(VectorStore):
    """Documents in a table of an SQLite file, and an index over it.

    The table has the columns id, key (the document's id), content, metadata (JSON) and vector. `connection` is one to use in place of
    `path`, and `index_arguments` are further ones of glove_index, such as {"metric": "dot"}. The asynchronous methods use threads,
    so a connection must have been opened with check_same_thread=False.
    """

    def __init__(self, embedding: Embeddings, path: str = ":memory:", table: str = "document", *, connection: Any = None,
                 index_arguments: Optional[Mapping[str, Any]] = None) -> None:
        self.embedding = embedding
        self.records = Records(path, table, ["content"], connection, index_arguments)

    def create_metadata_index(self, *keys: str) -> None:
        """Makes filters on this value of the metadata fast."""
        self.records.create_metadata_index(*keys)

    @property
    def embeddings(self) -> Embeddings:
        return self.embedding

    @classmethod
    def from_texts(cls, texts: List[str], embedding: Embeddings, metadatas: Optional[List[Dict[str, Any]]] = None, *,
                   ids: Optional[List[str]] = None, **kwargs: Any) -> "GloveVectorStore":
        """`kwargs` are those of GloveVectorStore()."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(self, texts: Iterable[str], metadatas: Optional[List[Dict[str, Any]]] = None, *,
                  ids: Optional[Sequence[Optional[str]]] = None, **kwargs: Any) -> List[str]:
        """Adds texts, and changes those whose id exists."""
        contents = list(texts)
        for name, given in (("metadatas", metadatas), ("ids", ids)):
            if given and len(given) != len(contents):
                raise ValueError(f"there are {len(contents)} texts, but {len(given)} {name}")
        keys = [key or str(uuid.uuid4()) for key in ids or [None] * len(contents)]
        if contents:
            self.records.write(keys, self.embedding.embed_documents(contents), [one or {} for one in metadatas or [{}] * len(contents)], {
                "content": contents})
        return keys

    def delete(self, ids: Optional[List[str]] = None, **kwargs: Any) -> bool:
        """Deletes the documents with these ids, or all."""
        self.records.delete(filters.ALWAYS if ids is None else self.records.with_keys(ids))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> List[Document]:
        return [_document(row) for row in self.records.rows(self.records.with_keys(ids), _COLUMNS)]

    def similarity_search_with_score_by_vector(self, embedding: List[float], k: int = 4, filter: Optional[Mapping[str, Any]] = None,
                                               **kwargs: Any) -> List[Tuple[Document, float]]:
        return [(_document(row), row["score"]) for row in self.records.search(embedding, k, condition_of(filter), _COLUMNS)]

    def similarity_search_by_vector(self, embedding: List[float], k: int = 4, filter: Optional[Mapping[str, Any]] = None,
                                    **kwargs: Any) -> List[Document]:
        return [document for document, _ in self.similarity_search_with_score_by_vector(embedding, k, filter)]

    def similarity_search_with_score(self, query: str, k: int = 4, filter: Optional[Mapping[str, Any]] = None,
                                     **kwargs: Any) -> List[Tuple[Document, float]]:
        return self.similarity_search_with_score_by_vector(self.embedding.embed_query(query), k, filter)

    def similarity_search(self, query: str, k: int = 4, filter: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> List[Document]:
        return self.similarity_search_by_vector(self.embedding.embed_query(query), k, filter)

    def max_marginal_relevance_search_by_vector(self, embedding: List[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5,
                                                filter: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> List[Document]:
        """Of the `fetch_k` nearest documents, k that are near and unlike each other; needs NumPy."""
        import numpy
        from langchain_core.vectorstores.utils import maximal_marginal_relevance
        found = self.records.search(embedding, fetch_k, condition_of(filter), [*_COLUMNS, "vector"])
        vectors: List[Any] = [numpy.frombuffer(self.records.index._float32(row["vector"]), "<f4") for row in found]
        chosen = maximal_marginal_relevance(numpy.array(embedding, "f4"), vectors, lambda_mult, k) if vectors else []
        return [_document(found[place]) for place in chosen]

    def max_marginal_relevance_search(self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5,
                                      **kwargs: Any) -> List[Document]:
        return self.max_marginal_relevance_search_by_vector(self.embedding.embed_query(query), k, fetch_k, lambda_mult, **kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        if self.records.index._score() == "distance":
            return lambda distance: 1 / (1 + distance)
        return lambda similarity: (1 + similarity) / 2


def _document(row: Mapping[str, Any]) -> Document:
    return Document(id=row["key"], page_content=row["content"], metadata=json.loads(row["metadata"]))
