"""Compares an index over a table with a full scan of the table, after every step of random sequences of statements.

    model_test.py EXTENSION [--steps N] [--attached] [--seed S] [--forms blob,json,text,static] [--journals wal,delete] [--keep FILE]
    model_test.py EXTENSION --replay FILE
    model_test.py EXTENSION --stand-ins

A sequence has its own database, and several connections work on it: three in this process, of which one attaches it, one
in another process, a writer without the extension and a defensive one that does not trust the schema. The reference is a
query over the content with cos_sim. A sequence that fails is shrunk and printed as SQL, and kept in FILE for --replay.
--stand-ins tests the test: it must accept a correct index made of plain SQL and reject several wrong ones.
"""
import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time

import numpy

import changesets
import keyed_statements
import sessions
import stand_ins
import statements
from sessions import Failure

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "text"))
import static_models  # noqa: E402

SKIPPED = 77
STEPS_PER_SEQUENCE = 150
SHRINK_SECONDS = 30
# What a statement may answer at any time.
ORDINARY = re.compile(r"constraint failed|is locked|no such savepoint|within a transaction|no transaction is active|cannot VACUUM|"
                      r"cannot commit|datatype mismatch|no such module: glove_index|unsafe use of virtual table|integer overflow|database or disk is full|cannot start|SQL statements in progress|too many levels of trigger recursion|string or blob too big|cannot change into wal")


class Wrong(Exception):
    """The index failed the test."""


class Database:
    """Executes the steps of one sequence on a database of its own."""

    def __init__(self, options, form):
        self.folder = tempfile.mkdtemp(prefix="glove-live-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.extension, self.form = options.extension, form
        model = {"text": options.model, "static": options.static_model}.get(form)
        start = ["SELECT glove_load('%s', 'glove')" % model] if model else []
        self.start, self.attach = start, "SELECT glove_attach()" if options.attached else None
        self.sessions = self.opened(os.path.join(self.folder, "live.db"))
        self.schema_changed = False
        self.counts = {"compared": 0, "rows": 0, "refused": 0, "locked": 0, "statements failed": 0, "commands": 0, "replicated": 0}

    def opened(self, path):
        return sessions.Sessions(path, self.extension, self.start, self.attach)

    def close(self):
        self.sessions.close_all()
        shutil.rmtree(self.folder, ignore_errors=True)

    def do(self, step):
        if step["do"] == "run":
            return self.run(step)
        if step["do"] == "check":
            return self.check(step, self.sessions.execute)
        if step["do"] == "close":
            return self.sessions.close(step["session"])
        return self.replicate(step) if step["do"] == "replicate" else self.copy(step)

    def run(self, step):
        self.schema_changed |= step.get("schema", False)
        for sql in step["sql"]:
            try:
                self.sessions.execute(step["session"], sql)
            except Failure as failure:
                # A trigger of the user's may run a command while the content has another name.
                renamed = step.get("schema") and "it was renamed to 'away'" in str(failure) and not sql.startswith("ALTER")
                if step.get("set_up") or not renamed and not self.allowed(str(failure), step["session"], step.get("command")):
                    raise Wrong("error: %s" % failure) from failure
                self.counts["statements failed"] += 1
                if not step.get("schema"):  # those are always completed, so that the content has its name again
                    return
        self.counts["commands"] += "command" in step
        # A transaction of another connection may still read what was there before.
        if step.get("command") == "rebuild" and not self.sessions.any_in_transaction():
            self.schema_changed = False

    def allowed(self, message, session, command=None, replica=None):
        """Whether the message of an error is one that this state of the database, or of the replica, explains."""
        if ORDINARY.search(message):
            return True
        if self.schema_changed and ("rebuild" in message or command is None and "no such" in message
                                    or "already exists" in message or "malformed database schema" in message
                                    or message == changesets.FORGOTTEN):  # a trigger ran a command, which asks for 'rebuild'
            return True
        return re.search(r"\b(NaN|Inf|bytes?|components?|dimensions|JSON|vector)\b", message) is not None and self.has_bad_row(session, replica or self.sessions)

    def has_bad_row(self, session, opened):
        session = session if session in statements.WITH_EXTENSION else "main"
        try:
            return bool(opened.execute(session, self.bad_rows)[0][0])
        except Failure:
            return False

    def check(self, step, execute):
        expected = actual = None
        try:
            expected = execute(step["session"], step["expected"])
            actual = execute(step["session"], step["index"])
        except Failure as failure:
            message = str(failure)
            if not self.allowed(message, step["session"]):
                raise Wrong("error: %s" % message) from failure
            self.counts["locked" if "locked" in message else "refused"] += 1
            return
        self.counts["compared"] += 1
        self.counts["rows"] += len(expected)
        if actual != expected:
            raise Wrong("expected %d rows: %s\n     got %d rows: %s" % (len(expected), shown(expected), len(actual), shown(actual)))

    def copy(self, step):
        """Copies the database, and runs the check and the integrity check on the copy."""
        path = os.path.join(self.folder, "copy.db")
        try:
            self.sessions.execute(step["session"], "VACUUM INTO '%s'" % path)
        except Failure as failure:
            if not self.allowed(str(failure), step["session"]):
                raise Wrong("error: %s" % failure) from failure
            return
        copied = self.opened(path)
        try:
            self.check(step["check"], lambda name, sql: copied.execute("main", sql.replace("{s}", "")))
        finally:
            copied.close_all()
            os.remove(path)

    def replicate(self, step):
        """Records changes of all tables as a changeset, applies them to a replica that changes too, and checks the replica."""
        path = os.path.join(self.folder, "replica.db")
        replica = self.opened(path)

        def run(execute, statements, of=None):
            for sql in statements:
                try:
                    execute(sql.replace("{s}", ""))
                except (Failure, sessions.sqlite3.Error) as failure:
                    if not self.allowed(str(failure), "main", replica=of):
                        raise Wrong("error: %s" % failure) from failure
        try:
            self.sessions.execute(step["session"], "VACUUM INTO '%s'" % path)
            recorder = changesets.Connection(self.sessions.path, self.extension)
            try:
                run(recorder.execute, [*self.start, *filter(None, [self.attach])])
                changeset = recorder.recorded(lambda execute: run(execute, step["recorded"]))
            finally:
                recorder.close()
            run(lambda sql: replica.execute("main", sql), step["before"], replica)
            replica.close_all()
            applier = changesets.Connection(path, self.extension)
            try:
                run(applier.execute, [*self.start, *filter(None, [self.attach])])
                applier.apply(changeset, step["policy"])
            finally:
                applier.close()
            run(lambda sql: replica.execute("main", sql), step["after"], replica)
            self.check(step["check"], lambda name, sql: replica.execute("main", sql.replace("{s}", "")))
            self.counts["replicated"] += 1
        except (Failure, sessions.sqlite3.Error) as failure:
            if not self.allowed(str(failure), step["session"]):
                raise Wrong("error: %s" % failure) from failure
        finally:
            replica.close_all()
            if os.path.exists(path):
                os.remove(path)


def shown(rows):
    return ", ".join(map(str, rows[:12])) + (", ..." if len(rows) > 12 else "")


def next_steps(generator, database, journal):
    """The steps of one move: a statement or several, and the comparisons after it."""
    source = generator.source
    session = source.choice(statements.WRITERS)
    if generator.in_transaction and source.random() < 0.8:  # the others find the database locked
        session = source.choice(sorted(generator.in_transaction))
    kind = source.choices(("write", "control", "command", "vacuum", "schema", "rebuild", "bad", "recursive", "close", "copy", "replicate"),
                          (60, 14, 30, 1.5, 5, 12 if database.schema_changed else 1.5, 1, 2, 1, 1, replicates(generator)))[0]
    if kind in ("command", "rebuild") and session not in statements.WITH_EXTENSION or kind in ("copy", "replicate"):
        session = "main"
    run = {"do": "run", "session": session}
    if kind == "write":
        steps = [{**run, "sql": [generator.write()]}]
    elif kind == "control":
        steps = [{**run, "sql": [generator.control(session)]}]
    elif kind in ("command", "rebuild"):
        what = source.choice(statements.COMMANDS) if kind == "command" else "rebuild"
        steps = [{**run, "sql": [generator.command(what)], "command": what}] if generator.commands else []
    elif kind == "vacuum":
        steps = [{**run, "sql": ["VACUUM {s}".replace("{s}", "side" if session == "attached" else "main")]}]
    elif kind == "schema":
        steps = schema_steps(generator, database)
    elif kind == "bad" and generator.form != "text":
        steps = [{**run, "sql": [generator.bad_row()]}, generator.check("main"),
                 {"do": "run", "session": "main", "sql": [generator.command("sync")], "command": "sync"},
                 {"do": "run", "session": "main", "sql": [generator.no_bad_row()]}] if generator.commands else []
    elif kind == "recursive":
        steps = [{**run, "sql": ["PRAGMA recursive_triggers = %d" % source.randrange(2)]}]
    elif kind == "close":
        generator.in_transaction.discard(session)
        steps = [{"do": "close", "session": session}]
    elif kind == "copy":
        steps = [{"do": "copy", "session": session, "check": generator.check("main")}]
    elif kind == "replicate":
        steps = [{"do": "replicate", "session": session, **generator.replication(), "check": generator.check("main")}]
    else:
        steps = []
    steps.append(generator.check(session if session in statements.WITH_EXTENSION else "main"))
    if source.random() < 0.3:
        steps.append(generator.check(source.choice(statements.WITH_EXTENSION)))
    return steps


def replicates(generator):
    """How often there is a replication; never without the session extension, which does not know generated columns."""
    return 3 if generator.commands and not generator.generated and changesets.library() else 0


def schema_steps(generator, database):
    """Changes the schema in the main connection, and half the time repairs the index at once."""
    try:
        triggers = database.sessions.execute("main", "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name <> 'named' AND name NOT GLOB 'app?'")
    except Failure:
        return []
    steps = [{"do": "run", "session": "main", "sql": generator.schema_change(triggers), "schema": True}]
    if generator.commands:
        steps.append(generator.check("main"))
        if generator.source.random() < 0.6:
            steps.append({"do": "run", "session": "main", "sql": [generator.command("rebuild")], "command": "rebuild"})
    return steps


def new_generator(source, form, stand_in):
    form = "text" if form == "static" else form  # the same statements with another model
    if stand_in:
        return stand_ins.StandIn(source, form, stand_in)
    return (keyed_statements if source.random() < 0.45 else statements).Generator(source, form)


def bad_rows_query(generator):
    if generator.form == "text":
        return "SELECT 0"
    column = generator.vector_column()
    return "SELECT count(*) FROM %s WHERE %s NOT NULL AND as_vector(%s, %d) IS NULL" % (
        generator.table(), column, column, generator.dims)


def run_sequence(options, seed, count):
    """Runs one random sequence. Returns its counts; raises Wrong, with the steps so far as its second argument."""
    source = random.Random(seed)
    form, journal = source.choice(options.forms), source.choice(options.journals)
    generator = new_generator(source, form, options.stand_in)
    database = Database(options, form)
    database.bad_rows = bad_rows_query(generator)
    done = []
    try:
        steps = generator.set_up(journal)
        while True:
            for step in steps:
                done.append(step)
                database.do(step)
            if len(done) >= count:
                return len(done), database.counts
            steps = next_steps(generator, database, journal)
    except Wrong as wrong:
        raise Wrong(str(wrong), {"form": form, "bad_rows": database.bad_rows, "steps": done}) from wrong
    finally:
        database.close()


def replay(options, sequence):
    """Runs the steps of a sequence. Returns (index of the step that failed, why), or None."""
    database = Database(options, sequence["form"])
    database.bad_rows = sequence["bad_rows"]
    try:
        for at, step in enumerate(sequence["steps"]):
            try:
                database.do(step)
            except Wrong as wrong:
                return at, str(wrong)
        return None
    finally:
        database.close()


def kind_of(why):
    return why.split(" rows")[0].rstrip("0123456789 ")


def shrink(options, sequence, why):
    """Leaves out steps as long as the last one still fails in the same way. Returns the sequence and why it fails."""
    steps, end = sequence["steps"], time.monotonic() + SHRINK_SECONDS
    size = len(steps) // 2
    while size >= 1 and time.monotonic() < end:
        at, smaller = 0, False
        while at < len(steps) - 1 and time.monotonic() < end:
            kept = [s for i, s in enumerate(steps) if not at <= i < at + size or s.get("set_up") or i == len(steps) - 1]
            failed = replay(options, {**sequence, "steps": kept}) if len(kept) < len(steps) else None
            if failed and kind_of(failed[1]) == kind_of(why):
                steps, why, smaller = kept[:failed[0] + 1], failed[1], True
            else:
                at += size
        size = size if smaller and size == 1 else size // 2
    return {**sequence, "steps": steps}, why


def as_sql(sequence):
    """The steps as text, with a comment wherever another connection goes on."""
    lines, session = [], None
    for step in sequence["steps"]:
        if step["session"] != session:
            session = step["session"]
            lines.append("-- connection %s" % session)
        if step["do"] == "run":
            lines += [sql + ";" for sql in step["sql"]]
        elif step["do"] == "close":
            lines.append("-- is closed")
        elif step["do"] == "replicate":
            lines.append("-- recorded: %s\n-- the replica: %s; then the changeset with policy %d; %s; and in it: %s" % (
                "; ".join(step["recorded"]), "; ".join(step["before"]), step["policy"], "; ".join(step["after"]), step["check"]["index"]))
        elif step["do"] == "copy":
            lines.append("VACUUM INTO 'copy.db'; -- and in it: " + step["check"]["index"] + ";")
    last = sequence["steps"][-1]
    if last["do"] == "check":
        lines += ["-- the index", last["index"] + ";", "-- must equal the full scan", last["expected"] + ";"]
    return "\n".join(lines).replace("{s}", "")


def report(options, seed, wrong):
    why, sequence = wrong.args
    print("SEED %s: %s, %d steps: %s" % (seed, sequence["form"], len(sequence["steps"]), why), flush=True)
    sequence, why = shrink(options, sequence, why)
    print("shrunk to %d steps:\n%s\n%s" % (len(sequence["steps"]), as_sql(sequence), why))
    if options.keep:
        with open(options.keep, "w", encoding="utf-8") as file:
            json.dump(sequence, file)


def run_all(options):
    """Runs sequences until there were enough steps. Returns whether all were right."""
    steps, number, total = 0, 0, {}
    start = time.monotonic()
    while steps < options.steps:
        seed = "%s/%d" % (options.seed, number)
        try:
            done, counts = run_sequence(options, seed, min(STEPS_PER_SEQUENCE, max(40, options.steps - steps)))
        except Wrong as wrong:
            report(options, seed, wrong)
            return False
        steps, number = steps + done, number + 1
        total = {key: total.get(key, 0) + value for key, value in counts.items()}
    print("SQLite %s, seed %s: %d steps in %d sequences, %s; %.1f s" % (
        sessions.sqlite3.sqlite_version, options.seed, steps, number, ", ".join("%d %s" % (v, k) for k, v in total.items()),
        time.monotonic() - start))
    return True


def test_stand_ins(options):
    """Returns whether the correct stand-in passes and every wrong one is found."""
    options.forms = ["blob", "json"]
    failures, short = [], "GLOVE_TEST_SHORT" in os.environ
    for name in [stand_ins.CORRECT, *list(stand_ins.WRONG)[::5 if short else 1]]:
        options.stand_in, found = name, None
        for number in range(200):
            try:
                counts = run_sequence(options, "%s/%d" % (options.seed, number), STEPS_PER_SEQUENCE)[1]
            except Wrong as wrong:
                found = number, wrong
                break
            if name == stand_ins.CORRECT and number == (1 if short else 7):
                break
        print("%s: %s" % (name, "found in sequence %d" % found[0] if found else "not found; the last sequence: %s" % counts), flush=True)
        if (found is None) != (name == stand_ins.CORRECT):
            failures.append(name)
            if found:
                report(options, "%s/%d" % (options.seed, found[0]), found[1])
    return not failures


def parsed_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", default=os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31)))
    parser.add_argument("--forms", type=lambda s: s.split(","), default=["blob", "json", "text", "static"])
    parser.add_argument("--journals", type=lambda s: s.split(","), default=["wal", "delete"])
    parser.add_argument("--attached", action="store_true", help="the index lies in temp")
    parser.add_argument("--keep")
    parser.add_argument("--replay")
    parser.add_argument("--stand-ins", action="store_true")
    options = parser.parse_args()
    options.stand_in = None
    statements.Generator.attached = options.attached
    return options


def has_index(extension):
    connection = sessions.open_sqlite3(":memory:", "extension", extension)
    return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'glove_index'").fetchall())


def write_model(path):
    """Writes the word vectors of the text indexes: small integers, so that texts tie."""
    source = random.Random(5)
    with open(path, "w", encoding="utf-8") as file:
        for word in statements.WORDS[:-1]:
            file.write("%s %s\n" % (word, " ".join(str(source.randrange(-2, 3) or 1) for _ in range(8))))


def write_static_model(folder):
    """Writes a model with a tokenizer for the same texts, of which some have an unknown token."""
    source = random.Random(6)
    tokens = [static_models.UNKNOWN, *statements.WORDS[:-3], "ri", "##ver"]
    rows = numpy.array([[source.randrange(-2, 3) or 1 for _ in range(8)] for _ in tokens], float)
    static_models.StaticModel(folder, "model2vec", rows, static_models.word_piece(tokens), normalize=True)


def main():
    options = parsed_arguments()
    if not hasattr(sessions.sqlite3.Connection, "enable_load_extension"):
        print("skipped: this Python's sqlite3 module cannot load extensions")
        sys.exit(SKIPPED)
    if not options.stand_ins and not has_index(options.extension):
        print("skipped: the extension has no glove_index")
        sys.exit(SKIPPED)
    try:
        import apsw  # noqa: F401 (for the defensive session)
    except ImportError:
        print("without the defensive connection, which needs python3-apsw")
        statements.WRITERS = tuple(name for name in statements.WRITERS if name != "defensive")
    with tempfile.TemporaryDirectory() as folder:
        options.model = os.path.join(folder, "model.txt")
        write_model(options.model)
        options.static_model = os.path.join(folder, "static")
        write_static_model(options.static_model)
        if options.replay:
            with open(options.replay, encoding="utf-8") as file:
                failed = replay(options, json.load(file))
            print("step %d: %s" % failed if failed else "no step fails")
            sys.exit(1 if failed else 0)
        passed = test_stand_ins(options) if options.stand_ins else run_all(options)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
