"""Stand-ins for the index, made of plain SQL: one that is right, and others that are each wrong in one way.

The model test must accept the first and find fault with every other one. A stand-in is a copy of the content, which
triggers keep, with the key as its key.
"""
import statements

CORRECT = "correct"
# What each wrong one forgets.
WRONG = {
    "no-update": "changes of a vector",
    "no-new-key": "the new key of a row whose key changes",
    "no-replace": "that REPLACE deletes rows without a trigger",
    "no-insert": "rows inserted by a trigger or by a writer without the extension",
    "no-ties": "that ties are ordered by id",
}


class StandIn(statements.Generator):
    """Makes steps in which the index is a stand-in: "correct" or a key of WRONG."""

    def __init__(self, source, form, name):
        super().__init__(source, form, commands=False)
        self.name = name

    def set_up(self, journal):
        content, key, vector = (statements.quoted(n) for n in (self.content, self.key, self.vector))
        # Not INSERT OR REPLACE: a statement's OR IGNORE would apply to it too, and keep a row whose original REPLACE deleted.
        put = "DELETE FROM copy WHERE id = new.%s; INSERT INTO copy VALUES (new.%s, new.%s);" % (key, key, vector)
        gone = "DELETE FROM copy WHERE id = old.%s;" % key
        when = {"no-insert": "WHEN new.lang = 'a'"}.get(self.name, "")
        changed = {"no-update": "", "no-new-key": gone + "UPDATE copy SET v = new.%s WHERE id = new.%s;" % (vector, key)}.get(
            self.name, gone + put)
        triggers = ["CREATE TRIGGER i AFTER INSERT ON %s %s BEGIN %s END" % (content, when, put),
                    "CREATE TRIGGER u AFTER UPDATE ON %s BEGIN SELECT 1; %s END" % (content, changed),
                    "CREATE TRIGGER d AFTER DELETE ON %s BEGIN %s END" % (content, gone)]
        sql = ["CREATE TABLE copy(id INTEGER PRIMARY KEY, v)", "INSERT INTO copy SELECT %s, %s FROM %s" % (key, vector, content)]
        steps = super().set_up(journal)
        return steps + [{"do": "run", "session": "main", "sql": [s], "set_up": True} for s in sql + triggers]

    def schema_change(self, triggers):
        return [self.write()]

    def over_index(self, queries, select, at, given, expected_given):
        content, key, vector = (statements.quoted(n) for n in (self.content, self.key, self.vector))
        rows = "(SELECT k.id AS %s, k.v AS %s FROM {s}copy k JOIN {s}%s c ON c.%s = k.id)" % (key, vector, content, key)
        if self.name == "no-replace":
            rows = "(SELECT k.id AS %s, k.v AS %s FROM {s}copy k)" % (key, vector)
        scan = self.full_scan(queries, rows)
        if self.name == "no-ties":
            scan = scan.replace("similarity DESC, id)", "similarity DESC, id DESC)")
        return scan + select % ("full_scan", expected_given)
