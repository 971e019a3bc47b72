"""Notes in an SQLite file, searched by a pipeline of Haystack."""
import words
from haystack import Document, Pipeline
from haystack.document_stores.types import DuplicatePolicy
from sqlite_glove.haystack import GloveDocumentStore, GloveEmbeddingRetriever

store = GloveDocumentStore("haystack.db")
store.write_documents([Document(id=name, content=text, meta={"year": year}, embedding=words.embed(text))
                       for name, (text, year) in words.NOTES.items()], DuplicatePolicy.OVERWRITE)
pipeline = Pipeline()
pipeline.add_component("retriever", GloveEmbeddingRetriever(store, top_k=2))
query = words.embed("a storm is coming")
for document in pipeline.run({"retriever": {"query_embedding": query}})["retriever"]["documents"]:
    print(document.id, document.meta["year"])
recent = {"field": "meta.year", "operator": ">=", "value": 2021}
found = pipeline.run({"retriever": {"query_embedding": query, "filters": recent, "top_k": 1}})
print(found["retriever"]["documents"][0].content)
