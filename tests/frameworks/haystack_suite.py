"""Haystack's own tests of document stores, run by pytest, and a comparison of random filters with its document in memory."""
import asyncio
import dataclasses
import datetime
import os
import random

import numpy
import pytest
from haystack import Pipeline
from haystack.dataclasses import ByteStream, Document, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.testing import document_store as theirs
from haystack.testing import document_store_async as asynchronous
from haystack.utils.filters import document_matches_filter

from sqlite_glove.haystack import GloveDocumentStore, GloveEmbeddingRetriever


def as_float32(document):
    return document if document.embedding is None else dataclasses.replace(document, embedding=numpy.array(document.embedding, "f4").tolist())


class Stored:
    """What the tests leave to a store: the embeddings, which are float32, and writing without a policy."""

    @pytest.fixture
    def document_store(self, tmp_path):
        store = GloveDocumentStore(str(tmp_path / "docs.db"))
        yield store
        store.records.close()

    @staticmethod
    def assert_documents_are_equal(received, expected):
        assert received == [as_float32(one) for one in expected]


class TestStore(Stored, theirs.DocumentStoreBaseExtendedTests, theirs.CountDocumentsByFilterTest):
    def test_write_documents(self, document_store):
        assert document_store.write_documents([Document(content="a")]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([Document(content="a")])


class TestAsync(Stored, asynchronous.CountDocumentsAsyncTest, asynchronous.WriteDocumentsAsyncTest, asynchronous.DeleteDocumentsAsyncTest,
                asynchronous.FilterDocumentsAsyncTest, asynchronous.DeleteAllAsyncTest, asynchronous.DeleteByFilterAsyncTest,
                asynchronous.UpdateByFilterAsyncTest, asynchronous.CountDocumentsByFilterAsyncTest):
    async def test_write_documents_async(self, document_store):
        assert await document_store.write_documents_async([Document(content="a")]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([Document(content="a")])


VALUES = [None, 0, 1, 2.5, -3, True, False, "a", "b", "2024-01-02", "2024-01-02T03:04:05", "2024-01-02T03:04:05.500", "2023-12-31", [1, 2], ["a"], {"x": 1}]
DATES = [datetime.datetime(2024, 1, 2, 3, 4, 5), datetime.datetime(2024, 1, 2)]


def random_filter(source, depth):
    if depth and source.random() < 0.6:
        return {"operator": source.choice(["AND", "OR", "NOT"]), "conditions": [random_filter(source, depth - 1) for _ in range(source.randint(1, 3))]}
    operator = source.choice(["==", "!=", ">", ">=", "<", "<=", "in", "not in"])
    value = [source.choice(VALUES + DATES) for _ in range(source.randint(0, 3))] if "in" in operator else source.choice(VALUES + DATES)
    if operator in (">", ">=", "<", "<="):  # others are an error, which a test of Haystack's has
        value = source.choice([None, 0, 1, 2.5, -3, True, "2024-01-02", "2024-01-02T03:04:05", *DATES])
    return {"field": source.choice(["meta.p", "meta.q", "p", "meta.r.x", "meta.r.y", "content", "id", "foo.bar"]), "operator": operator, "value": value}


def test_random_filters_match_what_haystacks_do():
    seed = os.environ.get("GLOVE_TEST_SEED") or random.randrange(2 ** 32)
    print(f"repeat with GLOVE_TEST_SEED={seed}")
    source = random.Random(int(seed))
    documents = [Document(id=f"n{number}", content=source.choice(["a", "b", None]), meta={  # Haystack would take "1" for a day
        key: source.choice(VALUES) for key in ("p", "q") if source.random() < 0.8} | ({"r": {"x": source.choice(VALUES)}} if source.random() < 0.5 else {}))
        for number in range(120)]
    store = GloveDocumentStore()
    store.write_documents(documents)
    compared = matched = 0
    for _ in range(3000):
        filters = random_filter(source, 3)
        try:
            expected = [one.id for one in documents if document_matches_filter(filters, one)]
        except (FilterError, TypeError):  # of values that cannot be compared; a document before them may decide the matter
            continue
        assert [one.id for one in store.filter_documents(filters)] == expected, filters
        compared, matched = compared + 1, matched + bool(expected)
    assert compared > 500 and matched > 200, (compared, matched)


def test_all_of_a_document_is_stored():
    document = Document(content="a", blob=ByteStream(b"\0\1", {"k": "v"}, "image/png"), meta={"é": ["ü", None, 2 ** 40], 'a "b"': {"c": 1}},
                        embedding=[0.5, 0.25], sparse_embedding=SparseEmbedding([1, 5], [0.5, 2.0]))
    store = GloveDocumentStore()
    assert store.write_documents([document, Document(content="b")]) == 2
    assert store.filter_documents({"field": "content", "operator": "==", "value": "a"}) == [document]
    assert store.filter_documents({"field": 'meta.a "b".c', "operator": "==", "value": 1}) == [document]
    assert store.write_documents([Document(id="x"), Document(id="x", content="last")], DuplicatePolicy.OVERWRITE) == 2
    assert store.write_documents([Document(id="y", content="first"), Document(id="y")], DuplicatePolicy.SKIP) == 1
    with pytest.raises(DuplicateDocumentError):
        store.write_documents([Document(id="z"), Document(id="z")])
    assert [one.content for one in store.filter_documents()] == ["a", "b", "last", "first"]


@pytest.mark.parametrize("scale", [False, True])
def test_retrieval_is_that_of_the_store_in_memory(scale):
    source = numpy.random.default_rng(5)
    documents = [Document(content=str(number), meta={"third": number % 3}, embedding=source.normal(size=12).astype("f4").tolist()) for number in range(100)]
    documents.append(Document(content="without"))
    memory, store = InMemoryDocumentStore(embedding_similarity_function="cosine"), GloveDocumentStore()
    query, filters = source.normal(size=12).tolist(), {"field": "meta.third", "operator": "==", "value": 1}
    for one in (memory, store):
        one.write_documents(documents)
    for wanted in (None, filters):
        for k in (0, 5, 200):
            theirs, ours = (one.embedding_retrieval(query, wanted, k, scale, True) for one in (memory, store))
            assert [one.content for one in ours] == [one.content for one in theirs]
            assert [one.embedding for one in ours] == [one.embedding for one in theirs]
            assert numpy.allclose([one.score for one in ours], [one.score for one in theirs], atol=1e-6)


def test_retriever_in_a_pipeline(tmp_path):
    store = GloveDocumentStore(str(tmp_path / "docs.db"))
    store.write_documents([Document(content="rain", meta={"lang": "en"}, embedding=[1.0, 0.0]), Document(content="pluie", meta={"lang": "fr"}, embedding=[1.0, 0.1])])
    pipeline = Pipeline()
    pipeline.add_component("retriever", GloveEmbeddingRetriever(store, {"field": "meta.lang", "operator": "==", "value": "fr"}, top_k=1, filter_policy="merge"))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["sqlite_glove.haystack"])
    for one in (pipeline, again):
        found = one.run({"retriever": {"query_embedding": [1.0, 0.0]}})["retriever"]["documents"]
        assert [document.content for document in found] == ["pluie"] and found[0].embedding is None
        both = {"field": "content", "operator": "==", "value": "rain"}
        assert one.run({"retriever": {"query_embedding": [1.0, 0.0], "filters": both}})["retriever"]["documents"] == []
    found = asyncio.run(again.get_component("retriever").run_async([1.0, 0.0], top_k=3))
    assert [document.content for document in found["documents"]] == ["pluie"]


@pytest.mark.parametrize("filter", [{"field": "meta.a", "operator": "~", "value": 1}, {"operator": "XOR", "conditions": []}, {"field": "embedding", "operator": "==", "value": [1.0]}])
def test_filters_that_are_wrong(filter):
    with pytest.raises(FilterError):
        GloveDocumentStore().filter_documents(filter)


def test_times_with_zones():
    store = GloveDocumentStore()
    store.write_documents([Document(content="a", meta={"at": "2024-01-02T03:00:00+02:00"}), Document(content="b", meta={"at": "2024-01-02T02:00:00Z"})])
    for operator, value, expected in (("==", "2024-01-02T01:00:00Z", "a"), (">", "2024-01-02T01:00:00+00:00", "b"), ("<=", "2024-01-02T02:00:00", "ab"),
                                      ("!=", datetime.datetime(2024, 1, 2, 1, tzinfo=datetime.timezone.utc), "b")):
        assert "".join(one.content for one in store.filter_documents({"field": "meta.at", "operator": operator, "value": value})) == expected
