"""Migration tools beside an index: Django's commands in a project, and Alembic's autogenerate with the filter of docs/frameworks.md."""
import os
import sqlite3
import subprocess
import sys

import alembic.command
import alembic.config
import pytest
import sqlalchemy
import sqlite_glove

FIELDS = "title = models.TextField({})\n    embedding = models.BinaryField()"
MODELS = "from django.db import models\nclass Doc(models.Model):\n    {}\n    class Meta:\n        db_table = 'doc'\n"
APPS = """import sqlite_glove
from django.apps import AppConfig
from django.db.backends.signals import connection_created
def load(connection, **_):
    if connection.vendor == "sqlite":
        sqlite_glove.load(connection.connection, repair=True)
class NotesConfig(AppConfig):
    name = "notes"
    default_auto_field = "django.db.models.AutoField"
    def ready(self):
        connection_created.connect(load)
"""
INDEX = """from django.db import migrations
class Migration(migrations.Migration):
    dependencies = [("notes", "0001_initial")]
    operations = [migrations.RunSQL("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')", "DROP TABLE doc_vec")]
"""


def search(path):
    with sqlite3.connect(path) as conn:
        sqlite_glove.load(conn)
        return conn.execute("SELECT id, round(similarity, 2) FROM doc_vec WHERE query = '[1, 0.2]' AND k = 2").fetchall()


def fill(path, *titles):
    with sqlite3.connect(path) as conn:  # without the extension
        conn.executemany("INSERT INTO doc(title, embedding) VALUES (?, ?)", [(title, sqlite_glove.serialize_float32([1, number]))
                                                                             for number, title in enumerate(titles)])


def test_django(tmp_path):
    app = tmp_path / "notes"
    (app / "migrations").mkdir(parents=True)
    for name, text in (("notes/__init__.py", ""), ("notes/migrations/__init__.py", ""), ("notes/apps.py", APPS), ("settings.py", f"""
INSTALLED_APPS = ["notes"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {str(tmp_path / "site.db")!r}}}}}
"""), ("notes/models.py", MODELS.format(FIELDS.format("")))):
        (tmp_path / name).write_text(text)
    path = str(tmp_path / "site.db")

    def manage(*command):
        done = subprocess.run([sys.executable, "-m", "django", *command], cwd=tmp_path, capture_output=True, text=True, check=False, env={
            **os.environ, "DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    manage("makemigrations", "notes")
    (app / "migrations/0002_index.py").write_text(INDEX)
    manage("migrate")
    assert "No changes detected" in manage("makemigrations", "--check")
    fill(path, "a", "b")
    assert search(path) == [(1, 0.98), (2, 0.83)]
    assert "class Doc(" in manage("inspectdb", "doc")  # of all tables, it names those of the index as well
    (app / "models.py").write_text(MODELS.format(FIELDS.format("null=True")))
    manage("makemigrations", "notes")
    manage("migrate")  # remakes the table, whose triggers are gone
    with pytest.raises(sqlite3.OperationalError, match="glove_repair"):
        search(path)
    assert "No changes detected" in manage("makemigrations", "--check")  # connects with load(repair=True)
    fill(path, "c")
    assert search(path) == [(1, 0.98), (3, 0.98)]


ENV = """from alembic import context
import sqlalchemy, sqlite_glove
metadata = sqlalchemy.MetaData()
sqlalchemy.Table("doc", metadata, sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True), sqlalchemy.Column("title", sqlalchemy.Text{more}),
                 sqlalchemy.Column("embedding", sqlalchemy.LargeBinary))
def include_object(object, name, type_, reflected, compare_to):
    return not (type_ == "table" and name.startswith("doc_vec"))
engine = sqlalchemy.create_engine(context.config.get_main_option("sqlalchemy.url"))
sqlalchemy.event.listen(engine, "connect", lambda connection, _: sqlite_glove.load(connection))
with engine.connect() as connection:
    context.configure(connection, target_metadata=metadata, include_object=include_object, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
"""
SCRIPT = '''"""${message}"""
from alembic import op
import sqlalchemy as sa
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
def upgrade():
    ${upgrades if upgrades else "pass"}
    AFTER
def downgrade():
    pass
'''


def test_alembic(tmp_path):
    folder = tmp_path / "alembic"
    (folder / "versions").mkdir(parents=True)
    path = str(tmp_path / "orm.db")
    config = alembic.config.Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("sqlalchemy.url", "sqlite:///" + path)

    def revise(message, after, more=""):
        (folder / "env.py").write_text(ENV.format(more=more))
        (folder / "script.py.mako").write_text(SCRIPT.replace("AFTER", f"op.execute({after!r})"))
        alembic.command.revision(config, message, autogenerate=True)
        alembic.command.upgrade(config, "head")
    revise("first", "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')")
    fill(path, "a", "b")
    assert search(path) == [(1, 0.98), (2, 0.83)]
    alembic.command.check(config)  # raises an error if it finds a change
    revise("required", "SELECT glove_repair('doc_vec')", ", nullable=False")  # remakes the table
    fill(path, "c")
    assert search(path) == [(1, 0.98), (3, 0.98)]
    alembic.command.check(config)
    (folder / "env.py").write_text((folder / "env.py").read_text().replace('startswith("doc_vec")', 'startswith("-")'))
    with pytest.raises(Exception, match="doc_vec"):  # so the filter is needed
        alembic.command.check(config)


def test_reflection_of_a_file(tmp_path):
    """SQLAlchemy reflects all tables of a file with an index, and Alembic would drop those that it does not know."""
    path = str(tmp_path / "docs.db")
    with sqlite3.connect(path) as conn:
        sqlite_glove.load(conn)
        sqlite_glove.index(conn, "doc", [1], [[1.0, 0.0]], {"title": ["a"]})
    engine = sqlalchemy.create_engine("sqlite:///" + path)
    with pytest.raises(sqlalchemy.exc.OperationalError, match="no such module: glove_index"):
        sqlalchemy.MetaData().reflect(engine)
    sqlalchemy.event.listen(engine, "connect", lambda connection, _: sqlite_glove.load(connection))
    engine.dispose()
    metadata = sqlalchemy.MetaData()
    metadata.reflect(engine)
    assert {"doc", "doc_vec"} <= set(metadata.tables)
