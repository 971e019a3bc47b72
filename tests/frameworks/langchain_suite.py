"""LangChain's own tests of vector stores, run by pytest, and what they leave out."""
import asyncio
import datetime
import os
import sqlite3
import threading

import numpy
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.vectorstores.in_memory import InMemoryVectorStore
from langchain_tests.integration_tests.vectorstores import VectorStoreIntegrationTests

from sqlite_glove.langchain import GloveVectorStore

TEXTS = {"rain": [1.0, 0.0, 0.0], "storm": [0.9, 0.1, 0.0], "bank": [0.0, 1.0, 0.0], "music": [0.0, 0.0, 1.0]}


class Words(Embeddings):
    def embed_documents(self, texts):
        return [TEXTS[text] for text in texts]

    def embed_query(self, text):
        return TEXTS[text]


class TestInMemory(VectorStoreIntegrationTests):
    @pytest.fixture()
    def vectorstore(self):
        yield GloveVectorStore(self.get_embeddings())


class TestInFile(VectorStoreIntegrationTests):
    @pytest.fixture()
    def vectorstore(self, tmp_path):
        store = GloveVectorStore(self.get_embeddings(), str(tmp_path / "docs.db"), "my docs", index_arguments={"lists": "none"})
        yield store
        store.records.close()


@pytest.fixture()
def store():
    return GloveVectorStore.from_texts(list(TEXTS), Words(), [
        {"lang": "en", "year": 2020, "tags": ["wet", "grey"]}, {"lang": "fr", "year": 2021, "tags": ["wet"]},
        {"lang": "en", "year": 2022.5, "flag": True, "note": None}, {"lang": "de", "person": {"name": "O'Hara"}, 'a "b"': "[1]"}], ids=list("abcd"))


def found(store, filter):
    return "".join(sorted(document.id for document in store.similarity_search("rain", k=9, filter=filter)))


@pytest.mark.parametrize("filter, ids", [
    (None, "abcd"), ({}, "abcd"), ({"lang": "en"}, "ac"), ({"lang": {"$eq": "fr"}}, "b"), ({"lang": {"$ne": "en"}}, "bd"),
    ({"year": {"$ne": 2020}}, "bcd"), ({"year": {"$gt": 2020}}, "bc"), ({"year": {"$gte": 2020, "$lt": 2022}}, "ab"),
    ({"year": {"$lte": 2020}}, "a"), ({"lang": {"$gt": "en"}}, "b"), ({"lang": {"$gt": 0}}, ""), ({"year": {"$between": [2021, 2023]}}, "bc"),
    ({"lang": {"$in": ["fr", "de"]}}, "bd"), ({"year": {"$in": [2020, None]}}, "ad"), ({"lang": {"$nin": ["fr", "de"]}}, "ac"),
    ({"year": {"$exists": True}}, "abc"), ({"year": {"$exists": False}}, "d"), ({"note": {"$exists": True}}, "c"), ({"note": None}, "abcd"),
    ({"tags": {"$contains": "wet"}}, "ab"), ({"lang": {"$contains": "e"}}, "acd"), ({"tags": ["wet"]}, "b"), ({"tags": '["wet"]'}, ""),
    ({'a "b"': "[1]"}, "d"), ({'a "b"': [1]}, ""), ({"person": {"name": "O'Hara"}}, "d"), ({"flag": True}, "c"), ({"lang": "' OR 1 --"}, ""),
    ({"' OR 1 --": None}, "abcd"), ({"' OR 1 --": 1}, ""), ({"$or": [{"lang": "fr"}, {"year": 2020}]}, "ab"), ({"$or": []}, ""),
    ({"$and": [{"lang": "en"}, {"$not": {"year": 2020}}]}, "c"), ({"$not": {"year": {"$gt": 2020}}}, "ad"),
    ({"$or": [{"lang": f"{number}"} for number in range(3000)] + [{"lang": "fr"}]}, "b")])
def test_filters(store, filter, ids):
    assert found(store, filter) == ids


@pytest.mark.parametrize("filter, part", [({"lang": {"$near": 1}}, "'$near'"), ({"$xor": []}, "'$xor'"), ([("lang", "en")], "dict"),
                                          (lambda document: True, "dict"), ({"lang": {"$in": "en"}}, "not a list"), ({"lang": {"$gt": ["en"]}}, "cannot")])
def test_filters_that_are_wrong(store, filter, part):
    with pytest.raises((TypeError, ValueError), match=part.replace("$", r"\$")):
        found(store, filter)


def test_dates_and_numbers_of_numpy(store):
    first, second = datetime.datetime(2024, 1, 2, 3), datetime.datetime(2024, 1, 2, 3, 4)
    store.add_texts(["rain", "storm"], [{"at": first, "n": numpy.int64(7)}, {"at": second, "n": numpy.array([1, 2])}], ids=["x", "y"])
    assert store.get_by_ids(["x", "y"])[1].metadata == {"at": "2024-01-02T03:04:00", "n": [1, 2]}
    for filter, ids in (({"at": first}, "x"), ({"at": {"$gt": first}}, "y"), ({"at": {"$in": [first, second]}}, "xy"), ({"n": numpy.int64(7)}, "x"),
                        ({"n": {"$contains": numpy.int64(2)}}, "y"), ({"n": {"$lte": numpy.float32(7)}}, "x")):
        assert found(store, filter) == ids, filter


def test_an_index_serves_a_filter(store):
    store.create_metadata_index("lang")
    store.create_metadata_index("person", "name")
    plan = store.records.conn.execute("EXPLAIN QUERY PLAN SELECT id FROM document WHERE json_extract(metadata, '$.\"lang\"') = 'en'").fetchall()
    assert "document_metadata_lang" in plan[0][3]
    assert found(store, {"lang": "en"}) == "ac"


def test_odd_ids_and_metadata(store):
    with pytest.raises(ValueError, match="the id 'a.x00b' cannot be stored"):
        store.add_texts(["rain"], ids=["a\0b"])
    assert store.get_by_ids(["a\0b"]) == []
    store.delete(["a\0b"])  # and not "a", as which SQLite's JSON reads it
    assert store.get_by_ids(["a"])[0].page_content == "rain"
    store.add_texts(["rain", "storm"], [None, {"n": 2**70}], ids=["x", "y"])
    assert store.get_by_ids(["x"])[0].metadata == {}
    assert found(store, {"n": 2**70}) == "y" == found(store, {"n": {"$gt": 2**64}})
    for filter, error in (({"a\0b": 1}, ValueError), ({1: 2}, TypeError), ({"n": {"$between": [1]}}, ValueError), ({"n": {"$between": 5}}, ValueError)):
        with pytest.raises(error, match="a filter names|the filter has the key 1|the operator .between has"):
            found(store, filter)
    with pytest.raises(ValueError, match="SQLite has no index for the metadata"):
        store.create_metadata_index('a"b')
    store.create_metadata_index("one", "two")
    store.create_metadata_index("one_two")
    assert store.records.conn.execute("SELECT count(*) FROM sqlite_master WHERE name GLOB 'document_metadata_one*'").fetchone() == (2,)


def test_a_commit_that_fails_is_undone(tmp_path):
    path = str(tmp_path / "docs.db")
    store = GloveVectorStore.from_texts(["rain"], Words(), ids=["a"], path=path)
    store.records.conn.execute("PRAGMA busy_timeout = 0")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM document").fetchall()
    for write in (lambda: store.add_texts(["storm"], ids=["b"]), lambda: store.records.index.delete([1])):
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            write()
        assert not store.records.conn.in_transaction
    reader.execute("COMMIT")
    store.add_texts(["bank"], ids=["c"])
    assert reader.execute("SELECT key FROM document ORDER BY key").fetchall() == [("a",), ("c",)]
    reader.close()


def test_scores_are_similarities(store):
    assert [(document.id, round(score, 6)) for document, score in store.similarity_search_with_score("rain", k=3)] == [
        ("a", 1.0), ("b", round(0.9 / (0.82 ** 0.5), 6)), ("c", 0.0)]
    assert [round(score, 6) for _, score in store.similarity_search_with_relevance_scores("rain", k=3)] == [1.0, 0.996942, 0.5]
    by_distance = GloveVectorStore.from_texts(["rain", "bank"], Words(), index_arguments={"metric": "l2"})
    assert [round(score, 6) for _, score in by_distance.similarity_search_with_relevance_scores("rain", k=3)] == [1.0, round(1 / (1 + 2 ** 0.5), 6)]


def test_diversity_is_that_of_langchain(store):
    embedding = DeterministicFakeEmbedding(size=16)
    texts = [f"text {number}" for number in range(60)]
    theirs = InMemoryVectorStore.from_texts(texts, embedding)
    ours = GloveVectorStore.from_texts(texts, embedding)
    for share in (0.0, 0.3, 1.0):
        chosen = [[document.page_content for document in one.max_marginal_relevance_search("text", k=8, fetch_k=30, lambda_mult=share)]
                  for one in (theirs, ours)]
        assert chosen[0] == chosen[1]
    assert [document.id for document in store.max_marginal_relevance_search("rain", k=2, fetch_k=4, lambda_mult=0.1)] == ["a", "c"]
    assert [document.id for document in store.as_retriever(search_type="mmr", search_kwargs={"k": 1, "filter": {"lang": "fr"}}).invoke("rain")] == ["b"]
    assert store.max_marginal_relevance_search("rain", filter={"lang": "it"}) == []


def test_stays_in_the_file(tmp_path):
    path = str(tmp_path / "docs.db")
    store = GloveVectorStore.from_texts(["rain"], Words(), ids=["a"], path=path)
    other = GloveVectorStore(Words(), path)
    assert [document.id for document in other.similarity_search("rain")] == ["a"]
    store.add_texts(["bank", "storm", "music"], ids=["a", "b", "b"])
    assert {(document.id, document.page_content) for document in other.similarity_search("rain")} == {("a", "bank"), ("b", "music")}
    assert {document.id: document.page_content for document in other.get_by_ids(["a", "b", "c"])} == {"a": "bank", "b": "music"}
    assert store.delete() and other.similarity_search("rain") == []
    store.records.close()
    os.chmod(path, 0o444)
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as connection:
        assert GloveVectorStore(Words(), connection=connection).similarity_search("rain") == []


def test_many_threads_share_a_store(tmp_path):
    store = GloveVectorStore(DeterministicFakeEmbedding(size=8), str(tmp_path / "docs.db"))
    async def work():
        await asyncio.gather(*(store.aadd_texts([f"{number} {part}" for part in range(5)]) for number in range(20)),
                             *(store.asimilarity_search("1 1", k=3) for _ in range(20)))
        assert (await store.asimilarity_search("7 3", k=1))[0].page_content == "7 3"
        assert [d.page_content for d in await store.amax_marginal_relevance_search("7 3", k=1)] == ["7 3"]
    asyncio.run(work())
    assert store.records.count() == 100
    errors = []
    others = [GloveVectorStore(DeterministicFakeEmbedding(size=8), str(tmp_path / "docs.db")) for _ in range(3)]

    def write(one, name):
        try:
            for number in range(10):
                one.add_texts([f"{name} {number}"], ids=[f"{name} {number}"])
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)
    threads = [threading.Thread(target=write, args=(one, name)) for name, one in enumerate(others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and store.records.count() == 130


def test_wrong_rows_are_errors_and_write_nothing(store):
    for texts, options, part in ((["rain"], {"ids": ["x", "y"]}, "2 ids"), (["rain"], {"metadatas": [{"a": float("nan")}]}, "NaN"),
                                 (["rain", "bank"], {"metadatas": [{}, {"a": object()}]}, "JSON")):
        with pytest.raises((TypeError, ValueError), match=part):
            store.add_texts(texts, **options)
    TEXTS["long"] = [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="3 dimensions"):
        store.add_texts(["rain", "long"])
    assert store.records.count() == 4
    assert store.add_texts([]) == [] and store.get_by_ids([]) == []
    store.records.conn.execute("CREATE TABLE own(id INTEGER PRIMARY KEY, key TEXT)")
    with pytest.raises(ValueError, match="no column 'content'"):
        GloveVectorStore(Words(), table="own", connection=store.records.conn)


def test_an_open_transaction_is_left_open(tmp_path):
    connection = sqlite3.connect(tmp_path / "docs.db")
    store = GloveVectorStore(Words(), connection=connection)
    connection.execute("BEGIN")
    store.add_documents([Document("rain", id="a")])
    assert connection.in_transaction and store.get_by_ids(["a"])
    connection.rollback()
    assert not store.get_by_ids(["a"])
