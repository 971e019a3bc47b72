"""SQLModel: the extension in each connection, an index made with the table, and a search that returns models."""
from typing import Optional

import sqlite_glove
from sqlalchemy import DDL, column, event, table
from sqlmodel import Field, Session, SQLModel, create_engine, select


class Doc(SQLModel, table=True):
    id: Optional[int] = Field(default=None, primary_key=True)
    title: str
    embedding: bytes


engine = create_engine("sqlite:///sqlmodel.db")
event.listen(engine, "connect", lambda connection, _: sqlite_glove.load(connection))
event.listen(Doc.__table__, "after_create",
             DDL("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')"))
SQLModel.metadata.create_all(engine)
doc_vec = table("doc_vec", *map(column, ["id", "similarity", "rank", "query", "k"]))
with Session(engine) as session:
    if not session.exec(select(Doc)).first():
        session.add(Doc(title="red", embedding=sqlite_glove.serialize_float32([1, 0, 0])))
        session.add(Doc(title="green", embedding=sqlite_glove.serialize_float32([0, 1, 0])))
        session.commit()
    query = sqlite_glove.serialize_float32([1, 0.2, 0])
    nearest = select(Doc, doc_vec.c.similarity).join(doc_vec, doc_vec.c.id == Doc.id).where(doc_vec.c.query == query, doc_vec.c.k == 1)
    for doc, similarity in session.exec(nearest):
        print(doc.title, round(similarity, 3))
