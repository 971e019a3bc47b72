"""SQLAlchemy: the extension in each connection, an index made with the table, and a search that returns mapped rows."""
import sqlite_glove
from sqlalchemy import DDL, Column, Integer, LargeBinary, Text, column, create_engine, event, select, table
from sqlalchemy.orm import Session, declarative_base

engine = create_engine("sqlite:///sqlalchemy.db")
event.listen(engine, "connect", lambda connection, _: sqlite_glove.load(connection))
Base = declarative_base()


class Doc(Base):
    __tablename__ = "doc"
    id = Column(Integer, primary_key=True)
    title = Column(Text)
    embedding = Column(LargeBinary)


event.listen(Doc.__table__, "after_create",
             DDL("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')"))
Base.metadata.create_all(engine)
doc_vec = table("doc_vec", *map(column, ["id", "similarity", "rank", "query", "k"]))
with Session(engine) as session:
    if not session.execute(select(Doc)).first():
        for title, vector in (("red", [1, 0, 0]), ("green", [0, 1, 0]), ("yellow", [1, 1, 0])):
            session.add(Doc(title=title, embedding=sqlite_glove.serialize_float32(vector)))
        session.commit()
    nearest = select(Doc, doc_vec.c.similarity).join_from(doc_vec, Doc, doc_vec.c.id == Doc.id).order_by(doc_vec.c.rank)
    query = sqlite_glove.serialize_float32([1, 0.2, 0])
    for doc, similarity in session.execute(nearest.where(doc_vec.c.query == query, doc_vec.c.k == 2)):
        print(doc.title, round(similarity, 3))
