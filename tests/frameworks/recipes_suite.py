"""The programs of examples/frameworks, each twice, because their files stay; and those of docs/frameworks.md."""
import importlib.metadata
import json
import os
import re
import subprocess
import sys

import pytest
import sqlite_glove

PROJECT = os.environ["GLOVE_PROJECT"]
EXAMPLES = os.path.join(PROJECT, "examples/frameworks")


FOUND = "rain 2022\nwaves 2019\nHeavy rain along the coast.\n"
PRINTED = {"with_sqlalchemy.py": "red 0.981\nyellow 0.832\n", "with_alembic.py": "[]\n[(2, 'current')]\n",
           "with_peewee.py": "red 0.981\n['doc']\n", "with_sqlmodel.py": "red 0.981\n", "with_django.py": "red 0.981\n",
           "with_to_sql.py": "[(0, 0.8944271909999159, 'red')]\n", "with_sqlite_utils.py": "[{'id': 0, 'similarity': 1.0}]\n"}
ONCE = {"with_alembic.py", "with_django.py", "with_sqlite_utils.py", "with_to_sql.py"}  # which make their tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("examples")
    sample = os.path.join(PROJECT, "examples/data/glove-6b-100d-20k.txt.gz")
    subprocess.run([os.environ["GLOVE_CONVERT"], "-q", sample, str(made / "glove.safetensors")], check=True)
    return made


@pytest.mark.parametrize("name", sorted(name for name in os.listdir(EXAMPLES) if name.startswith("with_")))
def test_example(folder, name):
    for _ in range(1 if name in ONCE else 2):
        done = subprocess.run([sys.executable, os.path.join(EXAMPLES, name)], cwd=folder, capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == (PRINTED.get(name, FOUND), 0), done.stderr


def test_document(folder, tmp_path):
    os.symlink(os.path.join(os.path.dirname(os.path.realpath(sqlite_glove.__file__)), "glove.so"), tmp_path / "glove.so")
    os.symlink(folder / "glove.safetensors", tmp_path / "glove.safetensors")
    done = subprocess.run([sys.executable, os.path.join(PROJECT, "tests/docs/test_docs.py"), "document", "--document",
                           os.path.join(PROJECT, "docs/frameworks.md")], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout + done.stderr


# What each row of the table in docs/frameworks.md has: its packages, and the suites that test it.
CLIENTS = {"LangChain": ("langchain-core", "langchain"), "Haystack": ("haystack-ai", "haystack"), "LlamaIndex": ("llama-index-core", "llama_index"),
           "Datasette": ("datasette", "plugins"), "llm": ("llm", "plugins"), "sqlite-utils": ("sqlite-utils", "plugins"), "pandas": ("pandas", "recipes"),
           "polars, pyarrow": ("polars, pyarrow", "frames"), "SQLAlchemy, SQLModel": ("SQLAlchemy, sqlmodel", "recipes"),
           "Alembic": ("alembic", "migrations"), "Django": ("Django", "migrations"), "Peewee": ("peewee", "recipes"), "aiosqlite": ("aiosqlite", "recipes")}

# The same of npm's, whose rows link to their suites.
NPM = {"LangChain.js": "@langchain/core", "LlamaIndex.TS": "llamaindex", "Drizzle, drizzle-kit": "drizzle-orm, drizzle-kit", "Kysely": "kysely", "Knex": "knex",
       "TypeORM": "typeorm", "Sequelize, sqlite3": "sequelize, sqlite3", "MikroORM": "@mikro-orm/core"}


def test_versions_of_the_document():
    with open(os.path.join(PROJECT, "docs/frameworks.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (.*?) \| ([\d., ]+) \|", file.read(), re.MULTILINE)
    with open(os.path.join(PROJECT, "tests/frameworks/js/package.json"), encoding="utf-8") as file:
        npm = json.load(file)["dependencies"]
    assert {re.sub(r"\[(.*?)\]\(.*?\)", r"\1", name): versions for name, versions in rows} == {
        **{name: ", ".join(map(importlib.metadata.version, packages.split(", "))) for name, (packages, _) in CLIENTS.items()},
        **{name: ", ".join(npm[package] for package in packages.split(", ")) for name, packages in NPM.items()}}
    for _, suite in CLIENTS.values():
        assert os.path.exists(os.path.join(PROJECT, "tests/frameworks", suite + "_suite.py"))
    linked = {os.path.basename(path) for name, _ in rows for path in re.findall(r"\(\.\./(tests/frameworks/js/.*?)\)", name)}
    assert {f"{name}.mjs" for name in ("langchain", "llamaindex", "drizzle", "kysely", "knex", "typeorm", "sequelize", "mikro-orm")} == linked
