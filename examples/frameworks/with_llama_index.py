"""Notes in an SQLite file, searched by LlamaIndex."""
import words
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import MetadataFilters
from sqlite_glove.llama_index import GloveVectorStore


class Words(BaseEmbedding):
    def _get_query_embedding(self, query):
        return words.embed(query)

    async def _aget_query_embedding(self, query):
        return words.embed(query)

    def _get_text_embedding(self, text):
        return words.embed(text)


nodes = [TextNode(id_=name, text=text, metadata={"year": year}, excluded_embed_metadata_keys=["year"])
         for name, (text, year) in words.NOTES.items()]
context = StorageContext.from_defaults(vector_store=GloveVectorStore("llama_index.db"))
index = VectorStoreIndex(nodes, storage_context=context, embed_model=Words())
for found in index.as_retriever(similarity_top_k=2).retrieve("a storm is coming"):
    print(found.node.node_id, found.node.metadata["year"])
recent = MetadataFilters.from_dicts([{"key": "year", "operator": ">=", "value": 2021}])
print(index.as_retriever(similarity_top_k=1, filters=recent).retrieve("a storm is coming")[0].node.text)
