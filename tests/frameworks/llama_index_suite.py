"""The vector store for LlamaIndex beside SimpleVectorStore: the same nodes, filters, queries and deletes."""
import asyncio
import itertools
import os
import random

import numpy
import pytest
from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (FilterCondition, FilterOperator, MetadataFilter, MetadataFilters, VectorStoreQuery,
                                                  VectorStoreQueryMode)

from sqlite_glove.llama_index import GloveVectorStore

VALUES = [None, "", "a", "ab", "Äb", "äB", "it's", 0, 1, 2.5, -3, True, [], ["a", "b"], ["ab"], [1, 2], [1.5]]
WANTED = [None, "a", "b", "ab", "äb", "it's", "abc", 0, 1, 2.5, ["a"], ["a", "ab"], ["b", "a"], [1, 2], [2], [0.5, 2.5], []]
KEYS = ["p", "q", "we \"ird\"", "doc_id"]


LISTS = (FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL)
ORDERS = (FilterOperator.GT, FilterOperator.GTE, FilterOperator.LT, FilterOperator.LTE)


def is_wrong(operator, value):
    """Whether the store refuses the value; SimpleVectorStore raises TypeError for some rows, or orders lists."""
    return operator in LISTS and not isinstance(value, (str, list)) or operator in ORDERS and isinstance(value, list)


def nodes():
    source = numpy.random.default_rng(7)
    made = []
    for number in range(150):
        metadata = {key: VALUES[int(source.integers(len(VALUES)))] for key in KEYS[:3] if source.random() < 0.8}
        node = TextNode(id_=f"n{number}", text=f"text {number}", metadata=metadata, embedding=source.normal(size=8).astype("f4").tolist())
        if number % 3:
            node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"d{number % 5}")
        made.append(node)
    return made


@pytest.fixture()
def stores(tmp_path):
    pair = SimpleVectorStore(), GloveVectorStore(path=str(tmp_path / "nodes.db"))
    for store in pair:
        assert store.add(nodes()) == [f"n{number}" for number in range(150)]
    return pair


def asked(store, filters=None, k=1000, **options):
    return store.query(VectorStoreQuery(query_embedding=[1.0, 0.5, -0.5, 0.0, 0.0, 2.0, 0.1, 0.3], similarity_top_k=k, filters=filters, **options))


def simple(store, filters):
    """The ids that match, by SimpleVectorStore; it takes no nested filters, so its answers to their parts are put together here."""
    if not any(isinstance(one, MetadataFilters) for one in filters.filters):
        return set(asked(store, filters).ids)
    parts = [simple(store, one if isinstance(one, MetadataFilters) else MetadataFilters(filters=[one])) for one in filters.filters]
    if filters.condition == FilterCondition.AND:
        return set.intersection(*parts)
    either = set.union(*parts)
    return either if filters.condition == FilterCondition.OR else {f"n{number}" for number in range(150)} - either


def compare(stores, filters):
    """Whether SimpleVectorStore answers; if so, both have the same rows and similarities."""
    try:
        expected = simple(stores[0], filters)
    except TypeError:  # it compares values of different types, which match nothing here
        return False
    result = asked(stores[1], filters)
    assert set(result.ids) == expected, filters
    assert result.similarities == sorted(result.similarities, reverse=True)
    return True


@pytest.mark.parametrize("operator", list(FilterOperator))
def test_every_operator(stores, operator):
    matched = 0
    for key, value in itertools.product(KEYS, WANTED):
        filters = MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)])
        if is_wrong(operator, value):
            with pytest.raises(ValueError):
                asked(stores[1], filters)
            continue
        compare(stores, filters)
        matched += bool(asked(stores[1], filters).ids)
    assert matched > 2


@pytest.mark.parametrize("operator", list(FilterOperator))
def test_one_row_at_a_time(operator):
    """Each stored value beside each wanted one, so that an error of SimpleVectorStore hides no other row."""
    compared = matched = 0
    for stored in [*VALUES, "missing"]:
        node = TextNode(id_="n", text="text", metadata={} if stored == "missing" else {"p": stored}, embedding=[1.0] * 8)
        pair = SimpleVectorStore(), GloveVectorStore()
        for store in pair:
            store.add([node])
        for value in WANTED:
            if is_wrong(operator, value):
                continue
            filters = MetadataFilters(filters=[MetadataFilter(key="p", value=value, operator=operator)])
            compared += compare(pair, filters)
            matched += bool(asked(pair[1], filters).ids)
    assert compared > 40 and matched > 3, (compared, matched)


def random_filters(source, depth):
    parts = []
    for _ in range(source.randint(1, 3)):
        if depth and source.random() < 0.5:
            parts.append(random_filters(source, depth - 1))
        else:
            operator = source.choice([FilterOperator.EQ, FilterOperator.NE, FilterOperator.IN, FilterOperator.NIN, FilterOperator.IS_EMPTY])
            value = source.choice([one for one in WANTED if isinstance(one, list)]) if operator in (FilterOperator.IN, FilterOperator.NIN) else source.choice(WANTED)
            parts.append(MetadataFilter(key=source.choice(KEYS), value=value, operator=operator))
    return MetadataFilters(filters=parts, condition=source.choice(list(FilterCondition)))


def test_nested_filters(stores):
    seed = os.environ.get("GLOVE_TEST_SEED") or random.randrange(2 ** 32)
    print(f"repeat with GLOVE_TEST_SEED={seed}")
    source = random.Random(int(seed))
    assert sum(compare(stores, random_filters(source, 3)) for _ in range(400)) == 400


def test_conditions_and_no_filters(stores):
    parts = [MetadataFilter(key="p", value="a"), MetadataFilter(key="q", value=1, operator=FilterOperator.NE)]
    for condition in [*FilterCondition, None]:
        assert compare(stores, MetadataFilters(filters=parts, condition=condition))
    assert compare(stores, MetadataFilters(filters=[])) and compare(stores, MetadataFilters.from_dicts([{"key": "doc_id", "value": "d1"}]))
    hostile = MetadataFilters(filters=[MetadataFilter(key="p') OR 1 --", value="' OR 1 --")])
    assert asked(stores[1], hostile).ids == []


def test_queries(stores):
    some = MetadataFilters(filters=[MetadataFilter(key="q", value=[1, 2], operator=FilterOperator.NIN)])
    for k, options in itertools.product((1, 7, 1000), ({}, {"filters": some}, {"node_ids": ["n3", "n14", "n15", "none"]})):
        ours, theirs = (asked(store, k=k, **options) for store in stores[::-1])
        assert ours.ids == theirs.ids and numpy.allclose(ours.similarities, theirs.similarities, atol=1e-6)
        assert [node.node_id for node in ours.nodes] == ours.ids
    assert len(asked(stores[1], node_ids=[], doc_ids=[]).ids) == 150  # what a VectorStoreIndex asks of a store that has the texts
    assert {node.ref_doc_id for node in asked(stores[1], doc_ids=["d1", "d2"]).nodes} == {"d1", "d2"}
    for threshold in (0.1, 0.4, 1.0):
        ours, theirs = (store.query(VectorStoreQuery(query_embedding=[1.0] * 8, similarity_top_k=9, mode=VectorStoreQueryMode.MMR, filters=some),
                                    mmr_threshold=threshold, mmr_prefetch_k=150) for store in stores[::-1])
        assert ours.ids == theirs.ids and numpy.allclose(ours.similarities, theirs.similarities, atol=1e-6)
    for mode in (VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SVM):
        with pytest.raises(ValueError, match="Invalid query mode"):
            asked(stores[1], mode=mode)


def test_changes(stores):
    odd = MetadataFilters(filters=[MetadataFilter(key="p", value=["a", "ab"], operator=FilterOperator.IN)])
    changed = nodes()[0]
    changed.embedding = [1.0] * 8
    for change in (lambda store: store.delete("d1"), lambda store: store.delete("no such document"), lambda store: store.add([changed]),
                   lambda store: store.delete_nodes(["n3", "n5", "none"]), lambda store: store.delete_nodes(filters=odd),
                   lambda store: store.delete_nodes(["n6", "n7", "n8"], odd), lambda store: store.clear(), lambda store: store.add(nodes())):
        for store in stores:
            change(store)
        ours, theirs = (asked(store) for store in stores[::-1])
        assert ours.ids == theirs.ids and numpy.allclose(ours.similarities, theirs.similarities, atol=1e-6)
    assert stores[1].get("n0") == stores[0].get("n0")
    assert [(node.node_id, node.text, node.metadata) for node in stores[1].get_nodes(["n2", "n1"])] == [
        (node.node_id, node.text, node.metadata) for node in nodes()[1:3]]
    assert GloveVectorStore(path=stores[1].path).get_nodes() == stores[1].get_nodes()


def test_asynchronous_calls_use_threads(stores):
    store = stores[1]

    async def work():
        await asyncio.gather(*(store.async_add([node]) for node in nodes()[:20]))
        results = await asyncio.gather(*(store.aquery(VectorStoreQuery(query_embedding=[1.0] * 8, similarity_top_k=3)) for _ in range(10)))
        assert len({tuple(result.ids) for result in results}) == 1
        await store.adelete("d1")
        await store.adelete_nodes(["n3"])
        assert len(await store.aget_nodes()) == len(store.get_nodes()) < 149
        await store.aclear()
        assert await store.aget_nodes() == []
    asyncio.run(work())


def test_an_index_over_documents(tmp_path):
    store = GloveVectorStore(path=str(tmp_path / "nodes.db"), table="my nodes", index_arguments={"metric": "dot"})
    store.create_metadata_index("lang")
    context = StorageContext.from_defaults(vector_store=store)
    documents = [Document(text=text, metadata={"lang": lang}) for text, lang in (("heavy rain", "en"), ("pluie", "fr"))]
    index = VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=MockEmbedding(4))
    french = MetadataFilters.from_dicts([{"key": "lang", "value": "fr"}])
    assert [found.node.text for found in index.as_retriever(filters=french).retrieve("rain")] == ["pluie"]
    again = VectorStoreIndex.from_vector_store(GloveVectorStore(path=str(tmp_path / "nodes.db"), table="my nodes"), embed_model=MockEmbedding(4))
    again.delete_ref_doc(documents[1].doc_id)
    assert [found.node.text for found in again.as_retriever().retrieve("rain")] == ["heavy rain"]
    assert again.as_retriever(vector_store_query_mode="mmr").retrieve("rain")[0].node.metadata == {"lang": "en"}
    assert GloveVectorStore.from_dict(store.to_dict()).path == store.path
