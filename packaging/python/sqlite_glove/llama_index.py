"""A vector store for LlamaIndex in an SQLite file.

>>> store = GloveVectorStore(path="docs.db")
>>> index = VectorStoreIndex.from_documents(documents, storage_context=StorageContext.from_defaults(vector_store=store))
>>> index.as_retriever(filters=MetadataFilters.from_dicts([{"key": "lang", "value": "en"}])).retrieve("a storm")
"""
# mypy: allow-subclassing-any
import asyncio
import json
from typing import Any, Dict, List, Mapping, Optional, Sequence

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (BasePydanticVectorStore, FilterCondition, FilterOperator, MetadataFilter, MetadataFilters,
                                                  VectorStoreQuery, VectorStoreQueryMode, VectorStoreQueryResult)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from . import _filters as sql
from ._store import Records, floats

_ORDERED = {FilterOperator.GT: ">", FilterOperator.GTE: ">=", FilterOperator.LT: "<", FilterOperator.LTE: "<="}
_COLUMNS = ["key", "node", "metadata"]


def _matches(filter: MetadataFilter) -> sql.Condition:
    """The condition for values that are not None, as SimpleVectorStore compares them."""
    field, operator, value = sql.metadata(filter.key), filter.operator, filter.value
    if operator in _ORDERED:
        return sql.ordered(field, _ORDERED[operator], value)
    if operator in (FilterOperator.EQ, FilterOperator.NE):
        return sql.NEVER if value is None else sql.equal(field, value)
    if operator in (FilterOperator.CONTAINS, FilterOperator.TEXT_MATCH):
        found, params = sql.contains(field, value)
        return found if operator == FilterOperator.CONTAINS else f"({field.type} = 'text' AND {found})", params
    if operator == FilterOperator.TEXT_MATCH_INSENSITIVE:
        return f"({field.type} = 'text' AND instr(glove_lower({field.value}), ?) > 0)", [str(value).lower()]
    if operator in (FilterOperator.IN, FilterOperator.NIN) and isinstance(value, str):
        return f"({field.type} = 'text' AND instr(?, {field.value}) > 0)", [value]
    if not isinstance(value, (list, str)):
        raise ValueError(f"the operator {operator.value!r} needs a list, but the filter of {filter.key!r} has {value!r}")
    if operator in (FilterOperator.IN, FilterOperator.NIN):
        return sql.one_of(field, value)
    if operator in (FilterOperator.ANY, FilterOperator.ALL):
        return (sql.any_of if operator == FilterOperator.ANY else sql.all_of)([sql.contains(field, one) for one in value])
    raise ValueError(f"a filter has no operator {operator!r}")


def _condition(filter: Any) -> sql.Condition:
    if isinstance(filter, MetadataFilters):
        return condition_of(filter)
    field = sql.metadata(filter.key)
    if filter.operator == FilterOperator.IS_EMPTY:
        return f"({field.value} IS NULL OR {field.value} = '' OR ({field.type} = 'array' AND {field.value} = '[]'))", []
    matches = _matches(filter)
    if filter.operator in (FilterOperator.NE, FilterOperator.NIN):
        return sql.any_of([sql.equal(field, None), sql.negation(matches)])
    return sql.all_of([sql.negation(sql.equal(field, None)), matches])


def condition_of(filters: Optional[MetadataFilters]) -> sql.Condition:
    """The SQL of filters, which may be nested; as in SimpleVectorStore, none match everything, and NOT means that none matches."""
    if filters is None or not filters.filters:
        return sql.ALWAYS
    parts = [_condition(one) for one in filters.filters]
    if filters.condition in (FilterCondition.OR, FilterCondition.NOT):
        return sql.any_of(parts) if filters.condition == FilterCondition.OR else sql.negation(sql.any_of(parts))
    return sql.all_of(parts)


class GloveVectorStore(BasePydanticVectorStore):
    """Nodes in a table of an SQLite file, and an index over their embeddings.

    The table has the columns id, key (the node's id), document (of which it is), node and metadata (JSON), and vector. `connection` is
    one to use in place of `path`, and `index_arguments` are further ones of glove_index, such as {"metric": "dot"}. The asynchronous
    methods use threads, so a connection must have been opened with check_same_thread=False.
    """

    stores_text: bool = True
    path: str = ":memory:"
    table: str = "node"
    index_arguments: Optional[Dict[str, Any]] = None
    _records: Records = PrivateAttr()

    def __init__(self, path: str = ":memory:", table: str = "node", index_arguments: Optional[Dict[str, Any]] = None,
                 connection: Any = None, **fields: Any) -> None:
        super().__init__(**{"path": path, "table": table, "index_arguments": index_arguments, **fields})
        self._records = Records(path, table, ["document", "node"], connection, index_arguments)

    @classmethod
    def class_name(cls) -> str:
        return "GloveVectorStore"

    @property
    def client(self) -> Any:
        return self._records.conn

    def create_metadata_index(self, *keys: str) -> None:
        """Makes filters on this value of the metadata fast: create_metadata_index("lang")."""
        self._records.create_metadata_index(*keys)

    def add(self, nodes: Sequence[BaseNode], **add_kwargs: Any) -> List[str]:
        """Adds nodes, and changes those whose id exists."""
        described = [node_to_metadata_dict(node, remove_text=False, flat_metadata=False) for node in nodes]
        contents = [metadata.pop("_node_content") for metadata in described]
        self._records.write([node.node_id for node in nodes], [node.get_embedding() for node in nodes], described, {
            "document": [node.ref_doc_id for node in nodes], "node": contents})
        return [node.node_id for node in nodes]

    def get(self, text_id: str) -> List[float]:
        """The embedding of a node."""
        return floats(self._records.rows(self._records.with_keys([text_id]), ["vector"])[0]["vector"])

    def get_nodes(self, node_ids: Optional[List[str]] = None, filters: Optional[MetadataFilters] = None) -> List[BaseNode]:
        return [_node(row) for row in self._records.rows(self._chosen(node_ids, filters), _COLUMNS)]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Deletes the nodes of a document."""
        self._records.delete(self._records.with_keys([ref_doc_id], "document"))

    def delete_nodes(self, node_ids: Optional[List[str]] = None, filters: Optional[MetadataFilters] = None, **delete_kwargs: Any) -> None:
        self._records.delete(self._chosen(node_ids, filters))

    def clear(self) -> None:
        self._records.delete(sql.ALWAYS)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The nodes nearest to an embedding. The mode mmr chooses among mmr_prefetch_factor (4) times as many as it returns."""
        if query.mode not in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.MMR):
            raise ValueError(f"Invalid query mode: {query.mode}; there are default and mmr")
        # Retrievers pass an empty list for a store that has the texts, and mean all.
        k, condition = query.similarity_top_k, self._chosen(query.node_ids or None, query.filters)
        if query.doc_ids:
            condition = sql.all_of([condition, self._records.with_keys(query.doc_ids, "document")])
        if query.mode == VectorStoreQueryMode.DEFAULT:
            found = self._records.search(query.query_embedding, k, condition, _COLUMNS)
            scores = [row["score"] for row in found]
        else:
            first = int(kwargs.get("mmr_prefetch_k") or k * kwargs.get("mmr_prefetch_factor", 4))
            rows = {row["key"]: row for row in self._records.search(query.query_embedding, first, condition, [*_COLUMNS, "vector"])}
            threshold = query.mmr_threshold if kwargs.get("mmr_threshold") is None else kwargs["mmr_threshold"]
            scores, keys = get_top_k_mmr_embeddings(query.query_embedding or [], [floats(row["vector"]) for row in rows.values()], similarity_top_k=k,
                                                    embedding_ids=list(rows), mmr_threshold=threshold)
            found = [rows[key] for key in keys]
        return VectorStoreQueryResult(nodes=[_node(row) for row in found], similarities=scores, ids=[row["key"] for row in found])

    def _chosen(self, node_ids: Optional[Sequence[str]], filters: Optional[MetadataFilters]) -> sql.Condition:
        return condition_of(filters) if node_ids is None else sql.all_of([self._records.with_keys(node_ids), condition_of(filters)])

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> List[str]:
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def aget_nodes(self, node_ids: Optional[List[str]] = None, filters: Optional[MetadataFilters] = None) -> List[BaseNode]:
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        await asyncio.to_thread(self.delete, ref_doc_id)

    async def adelete_nodes(self, node_ids: Optional[List[str]] = None, filters: Optional[MetadataFilters] = None, **delete_kwargs: Any) -> None:
        await asyncio.to_thread(self.delete_nodes, node_ids, filters)

    async def aclear(self) -> None:
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        return await asyncio.to_thread(self.query, query, **kwargs)


def _node(row: Mapping[str, Any]) -> BaseNode:
    return metadata_dict_to_node({"_node_content": row["node"], "_node_type": json.loads(row["metadata"])["_node_type"]})
