"""Django: the extension in each connection, and an index that is repaired after Django has remade its table."""
import django, sqlite_glove
from django.conf import settings
from django.db.backends.signals import connection_created
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}})
django.setup()
from django.db import connection, models

def load(connection, **_):  # connect it in the ready() of your AppConfig
    if connection.vendor == "sqlite":
        sqlite_glove.load(connection.connection)
connection_created.connect(load)

class Doc(models.Model):
    title = models.TextField()
    embedding = models.BinaryField()
    class Meta:
        app_label, db_table = "site", "doc"

with connection.schema_editor() as editor:  # what migrations do
    editor.create_model(Doc)
    editor.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')")
for title, vector in (("red", [1, 0, 0]), ("green", [0, 1, 0])):
    Doc.objects.create(title=title, embedding=sqlite_glove.serialize_float32(vector))
new = models.TextField(null=True)
new.set_attributes_from_name("title")
with connection.schema_editor() as editor:
    editor.alter_field(Doc, Doc._meta.get_field("title"), new)
    editor.execute("SELECT glove_repair('doc_vec')")
nearest = """SELECT d.*, v.similarity FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = %s AND v.k = 1"""
for doc in Doc.objects.raw(nearest, [sqlite_glove.serialize_float32([1, 0.2, 0])]):
    print(doc.title, round(doc.similarity, 3))
