"""The adapters of examples/frameworks: test_adapters.py --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

Each is called as LangChain and LlamaIndex document that they call a vector store. Where the packages are not installed, stand-ins
with the documented base classes take their place, and the test says so.
"""
import abc
import argparse
import dataclasses
import enum
import importlib
import inspect
import os
import sqlite3
import sys
import tempfile
import types
import unittest

import installed

SKIPPED = 77
MOST_LINES = 60
TEXTS = {"rain": [1, 0, 0], "storm": [0.9, 0.1, 0], "bank": [0, 1, 0], "music": [0, 0, 1]}
# The parameters of langchain_core.vectorstores.VectorStore and llama_index.core.vector_stores.types.BasePydanticVectorStore.
LANGCHAIN = {"add_texts": "self, texts, metadatas=None, *, ids=None, **kwargs", "delete": "self, ids=None, **kwargs",
             "similarity_search": "self, query, k=4, **kwargs", "similarity_search_by_vector": "self, embedding, k=4, **kwargs",
             "from_texts": "texts, embedding, metadatas=None, *, ids=None, **kwargs"}
LLAMAINDEX = {"add": "self, nodes, **add_kwargs", "delete": "self, ref_doc_id, **delete_kwargs", "query": "self, query, **kwargs"}


def module(name, **contents):
    made = types.ModuleType(name)
    vars(made).update(contents)
    sys.modules[name] = made


def stand_in_for_langchain():
    @dataclasses.dataclass
    class Document:
        page_content: str
        metadata: dict = dataclasses.field(default_factory=dict)
        id: str = None

    class VectorStore(abc.ABC):
        @abc.abstractmethod
        def similarity_search(self, query, k=4, **kwargs): ...

        @classmethod
        @abc.abstractmethod
        def from_texts(cls, texts, embedding, metadatas=None, *, ids=None, **kwargs): ...
    module("langchain_core")
    module("langchain_core.documents", Document=Document)
    module("langchain_core.vectorstores", VectorStore=VectorStore)


def stand_in_for_llamaindex():
    @dataclasses.dataclass
    class TextNode:
        id_: str
        text: str
        metadata: dict
        embedding: list
        ref_doc_id: str = None
        node_id = property(lambda self: self.id_)

        def get_embedding(self):
            return self.embedding

    class BasePydanticVectorStore(abc.ABC):
        def __init__(self, **fields):
            for name, value in fields.items():
                setattr(self, name, value)

        @abc.abstractmethod
        def add(self, nodes, **kwargs): ...

        @abc.abstractmethod
        def delete(self, ref_doc_id, **delete_kwargs): ...

        @abc.abstractmethod
        def query(self, query, **kwargs): ...

    class FilterOperator(str, enum.Enum):
        EQ = "=="
        GT = ">"
        IN = "in"
        NIN = "nin"

    class FilterCondition(str, enum.Enum):
        AND = "and"
        OR = "or"

    def keywords(name, **defaults):
        return dataclasses.make_dataclass(name, [(field, object, dataclasses.field(default_factory=lambda value=value: value))
                                                 for field, value in defaults.items()])
    for name in ("", ".core", ".core.bridge", ".core.vector_stores"):
        module("llama_index" + name)
    module("llama_index.core.schema", TextNode=TextNode)
    module("llama_index.core.bridge.pydantic", PrivateAttr=lambda: None)
    module("llama_index.core.vector_stores.types", BasePydanticVectorStore=BasePydanticVectorStore,
           VectorStoreQuery=keywords("VectorStoreQuery", query_embedding=None, similarity_top_k=1, doc_ids=None, node_ids=None, filters=None),
           VectorStoreQueryResult=keywords("VectorStoreQueryResult", nodes=None, similarities=None, ids=None),
           MetadataFilter=keywords("MetadataFilter", key=None, value=None, operator=FilterOperator.EQ),
           MetadataFilters=keywords("MetadataFilters", filters=None, condition=FilterCondition.AND), FilterOperator=FilterOperator,
           FilterCondition=FilterCondition)
    module("llama_index.core.vector_stores.utils", node_to_metadata_dict=lambda node, remove_text: {**node.metadata, "_text": node.text},
           metadata_dict_to_node=lambda metadata: TextNode("", metadata.pop("_text"), metadata, None))


def ensure(package, stand_in):
    try:
        importlib.import_module(package)
        print(f"{package}: the installed one")
    except ImportError:
        print(f"{package}: a stand-in, because it is not installed")
        stand_in()


class Embedding:
    def embed_documents(self, texts):
        return [TEXTS[text] for text in texts]

    def embed_query(self, text):
        return TEXTS[text]


class Adapters(unittest.TestCase):
    def check_signatures(self, adapter, documented):
        """Each call that the documented parameters allow is one that the adapter takes."""
        for name, parameters in documented.items():
            expected = eval(f"lambda {parameters}: None")  # pylint: disable=eval-used
            own = inspect.signature(getattr(adapter, name)).parameters
            for parameter in inspect.signature(expected).parameters.values():
                self.assertIn(parameter.name if parameter.kind is not parameter.VAR_KEYWORD else list(own)[-1], own, name)
                if parameter.kind is not parameter.VAR_KEYWORD:
                    self.assertEqual((own[parameter.name].kind, own[parameter.name].default), (parameter.kind, parameter.default), name)

    def test_are_short(self):
        for name in ("langchain_store.py", "llamaindex_store.py"):
            with open(os.path.join(sys.path[0], name), encoding="utf-8") as file:
                self.assertLessEqual(len(file.readlines()), MOST_LINES, name)

    def test_langchain(self):
        ensure("langchain_core.vectorstores", stand_in_for_langchain)
        from langchain_store import GloveStore
        self.check_signatures(GloveStore, LANGCHAIN)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "docs.db")
            store = GloveStore.from_texts(["rain", "bank"], Embedding(), [{"lang": "en"}, {"lang": "fr"}], ids=["a", "b"], path=path)
            self.assertEqual([(d.id, d.page_content, d.metadata) for d in store.similarity_search("storm", k=1)], [("a", "rain", {"lang": "en"})])
            made = store.add_texts(texts=["storm", "music"])
            self.assertEqual(len(set(made) | {"a", "b"}), 4)
            self.assertEqual([d.page_content for d in store.similarity_search(query="rain", k=2)], ["rain", "storm"])
            self.assertEqual([d.page_content for d in store.similarity_search("rain", k=2, filter={"lang": "fr"})], ["bank"])
            self.assertEqual([d.page_content for d in store.similarity_search_by_vector([0, 0, 1], k=1)], ["music"])
            document, score = store.similarity_search_with_score("music", k=1)[0]
            self.assertEqual((document.page_content, score), ("music", 1.0))
            store.add_texts(["music"], [{"changed": 1}], ids=["a"])
            self.assertEqual({d.metadata.get("changed") for d in store.similarity_search("music", k=2)}, {None, 1})
            self.assertTrue(store.delete(["a", "b"]))
            self.assertEqual(sorted(d.page_content for d in store.similarity_search("rain", k=9)), ["music", "storm"])
            self.assertEqual(len(GloveStore(Embedding(), path=path).similarity_search("rain", k=9)), 2)
            self.assertTrue(store.delete())
            self.assertEqual(store.similarity_search("rain"), [])
            store.conn.close()

    def test_llamaindex(self):
        ensure("llama_index.core.vector_stores.types", stand_in_for_llamaindex)
        from llama_index.core.schema import TextNode
        from llama_index.core.vector_stores import types as kinds
        from llamaindex_store import GloveVectorStore
        self.check_signatures(GloveVectorStore, LLAMAINDEX)
        store = GloveVectorStore()
        nodes = [TextNode(id_=text, text=text, metadata={"size": len(text)}, embedding=[float(x) for x in vector])
                 for text, vector in TEXTS.items()]
        for node in nodes:
            self.source(node, "even" if len(node.text) % 2 == 0 else "odd")
        self.assertEqual(store.add(nodes), list(TEXTS))
        store.add(nodes[:1])

        def ask(vector, k, **options):
            found = store.query(kinds.VectorStoreQuery(query_embedding=vector, similarity_top_k=k, **options))
            self.assertEqual([node.text for node in found.nodes], found.ids)
            self.assertEqual(found.similarities, sorted(found.similarities, reverse=True))
            return found.ids
        self.assertEqual(ask([1.0, 0.0, 0.0], 2), ["rain", "storm"])
        size = [kinds.MetadataFilter(key="size", value=4, operator=kinds.FilterOperator.GT)]
        self.assertEqual(ask([1.0, 0.0, 0.0], 4, filters=kinds.MetadataFilters(filters=size)), ["storm", "music"])
        both = size + [kinds.MetadataFilter(key="size", value=4)]
        self.assertEqual(len(ask([1.0, 0.0, 0.0], 4, filters=kinds.MetadataFilters(filters=both))), 0)
        either = kinds.MetadataFilters(filters=both, condition=kinds.FilterCondition.OR)
        self.assertEqual(len(ask([1.0, 0.0, 0.0], 4, filters=either)), 4)
        self.assertEqual(ask([1.0, 0.0, 0.0], 4, doc_ids=["odd"], filters=either), ["storm", "music"])
        for operator, wanted in ((kinds.FilterOperator.IN, ["rain", "bank"]), (kinds.FilterOperator.NIN, ["storm", "music"])):
            sizes = kinds.MetadataFilters(filters=[kinds.MetadataFilter(key="size", value=[4, 6], operator=operator)])
            self.assertEqual(ask([1.0, 0.0, 0.0], 4, filters=sizes), wanted)
        self.assertEqual(ask([1.0, 0.0, 0.0], 4, node_ids=["bank", "music"]), ["bank", "music"])
        store.delete("even")
        self.assertEqual(ask([1.0, 0.0, 0.0], 4), ["storm", "music"])

    def source(self, node, document):
        """Says which document a node is of."""
        try:
            from llama_index.core.schema import NodeRelationship, RelatedNodeInfo
            node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
        except ImportError:
            node.ref_doc_id = document


def main():
    parser = argparse.ArgumentParser()
    for option in ("--project", "--extension", "--convert"):
        parser.add_argument(option, required=True)
    options, rest = parser.parse_known_args()
    if not hasattr(sqlite3.connect(":memory:"), "enable_load_extension"):
        print("skipped: this Python's sqlite3 cannot load extensions")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        installed.install(options.project, options.extension, folder)
        sys.path[:0] = [os.path.join(options.project, "examples/frameworks"), folder]
        unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
