"""Alembic: autogenerate leaves the index and its tables alone, and a batch that remakes the table ends with glove_repair."""
import sqlalchemy, sqlite_glove
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations

engine = sqlalchemy.create_engine("sqlite:///alembic.db")
sqlalchemy.event.listen(engine, "connect", lambda connection, _: sqlite_glove.load(connection))


def include_object(object, name, type_, reflected, compare_to):  # pass it to context.configure() in env.py
    return not (type_ == "table" and name.startswith("doc_vec"))


with engine.begin() as connection:
    for statement in ("CREATE TABLE doc(id INTEGER PRIMARY KEY, title TEXT, embedding BLOB)",
                      "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')",
                      "INSERT INTO doc(title, embedding) VALUES ('red', X'0000803F00000000'), ('green', X'000000000000803F')"):
        connection.exec_driver_sql(statement)
    metadata = sqlalchemy.MetaData()
    metadata.reflect(connection, only=["doc"])
    context = MigrationContext.configure(connection, opts={"include_object": include_object})
    print(compare_metadata(context, metadata))
    op = Operations(context)
    with op.batch_alter_table("doc", recreate="always") as batch:
        batch.add_column(sqlalchemy.Column("lang", sqlalchemy.Text))
    op.execute("SELECT glove_repair('doc_vec')")
    print(connection.execute(sqlalchemy.text("SELECT rows, state FROM glove_indexes")).fetchall())
