"""Notes in an SQLite file, searched by LangChain."""
import words
from langchain_core.embeddings import Embeddings
from sqlite_glove.langchain import GloveVectorStore


class Words(Embeddings):
    def embed_query(self, text):
        return words.embed(text)

    def embed_documents(self, texts):
        return [words.embed(text) for text in texts]


store = GloveVectorStore(Words(), "langchain.db")
store.add_texts([text for text, _ in words.NOTES.values()], [{"year": year} for _, year in words.NOTES.values()], ids=list(words.NOTES))
for document in store.similarity_search("a storm is coming", k=2):
    print(document.id, document.metadata["year"])
retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 1, "filter": {"year": {"$gte": 2021}}})
print(retriever.invoke("a storm is coming")[0].page_content)
