"""Random statements over glove_nn, each written twice: for the virtual table, and for an ordinary table `r` that holds
the whole relation (inputs.py says how). Writes one JSON file that any host of SQLite can execute (execute.py, execute.mjs).

    generate.py OUT.json MODEL.txt --seed N --queries N [--loops]
"""

import argparse
import json
import random
import re

from inputs import Inputs, Pair, as_text, encoded, joined, literal
from relation import Model
from tables import set_up

PARAMETER = re.compile(r"\?(\d+)")


class Generator(Inputs):
    # ---- conditions on rows ----

    def filter(self, alias, other=None):
        """A condition on neighbor, similarity or rank; `other` is the alias of a table u in scope."""
        n = alias
        if other and self.chance(0.5):
            column = self.pick("word", "word", "word_nc", "num", "bin", "any")
            form = self.pick(f"{n}.neighbor = {other}.{column}", f"{other}.{column} = {n}.neighbor",
                             f"{n}.neighbor IS {other}.{column}", f"{n}.rank = {other}.id", f"{n}.rank <= {other}.id",
                             f"{n}.similarity > {other}.id / 10.0")
            return form
        number = self.value(round(self.rng.uniform(-1, 1), 2))
        rank = self.value(self.pick(0, 1, 2, 3, 5, 30, 2.5, "3", -1, None, 1e18))
        neighbor = self.value(self.neighbor_value())
        if self.chance(0.15):  # bounds that some row meets exactly
            exact = f"(SELECT similarity FROM r WHERE word = 'king' AND expr IS NULL AND k IS NULL AND rank = {self.pick(1, 2, 5)})"
            return f"{n}.similarity {self.pick('=', '<', '<=', '>', '>=')} {exact}"
        if self.chance(0.4):
            return self.pick(f"{n}.rank <= {self.pick(2, 4, 10)}", f"{n}.rank > {self.pick(1, 2)}",
                             f"{n}.similarity > -0.{self.pick(1, 3)}", f"{n}.similarity < 0.{self.pick(2, 5)}",
                             f"{n}.neighbor IN ('queen', 'twin2', 'twin3', '5', 'o''neil', {neighbor})",
                             f"{n}.neighbor >= {self.pick(literal('c'), literal('A'))}")
        neighbors = ", ".join(self.value(self.neighbor_value()) for _ in range(self.rng.randrange(1, 6)))
        forms = [
            f"{n}.neighbor = {neighbor}", f"{n}.neighbor = {neighbor}", f"{n}.neighbor IS {neighbor}", f"{neighbor} = {n}.neighbor",
            f"{n}.neighbor = {neighbor} COLLATE NOCASE", f"{n}.neighbor COLLATE NOCASE = {neighbor}",
            f"{n}.neighbor IN ({neighbors})", f"{n}.neighbor IN ({neighbors})", f"{n}.neighbor NOT IN ({neighbors})",
            f"{n}.neighbor IN (SELECT {self.pick('word', 'word_nc', 'num', 'bin', 'any')} FROM u)",
            f"{n}.neighbor = 5", f"{n}.neighbor IN (5, 3.0)", f"{n}.neighbor = x'6b696e67'",
            f"{n}.neighbor LIKE 'k%'", f"{n}.neighbor GLOB 't*'", f"{n}.neighbor = lower({n}.neighbor)", f"{n}.neighbor < 'm'",
            f"{n}.similarity > {number}", f"{n}.similarity >= {number}", f"{n}.similarity < {number}",
            f"{n}.similarity <= {number}", f"{n}.similarity BETWEEN -0.2 AND {number}", f"{n}.similarity = {number}",
            f"{n}.similarity > '0.1'", f"{n}.similarity > NULL",
            f"{n}.rank <= {rank}", f"{n}.rank < {rank}", f"{n}.rank = {rank}", f"{n}.rank >= {rank}",
            f"{n}.rank > {rank}", f"{n}.rank IS {rank}", f"{n}.rank IN (1, 3, 3.0, '2', NULL)",
            f"{n}.rank BETWEEN {rank} AND 6", f"({n}.rank <= 3 OR {n}.similarity > 0.2)",
            f"({n}.rank, {n}.neighbor) = (1, {neighbor})", f"({n}.rank, {n}.similarity) < (4, 0.1)",
            f"NOT ({n}.rank > 4)", f"{n}.rank % 2 = 1", f"{n}.rank + 0 < 5", f"{n}.neighbor IS NOT NULL",
            f"length({n}.neighbor) = {n}.rank", f"{n}.similarity * 2 > {number}",
        ]
        return self.rng.choice(forms)

    def filters(self, alias, other=None):
        count = self.pick(0, 0, 1, 1, 1, 2, 3)
        if self.chance(0.02):
            count = 13
        return [Pair(self.filter(alias, other)) for _ in range(count)]

    # ---- statements ----

    def columns(self, alias, occurrence):
        columns = [f"{alias}.{c}" for c in ("neighbor", "similarity", "rank") if self.chance(0.7)]
        columns += [f"{alias}.{c}" for c in occurrence.readable if self.chance(0.4)]
        return columns or [f"{alias}.neighbor"]

    def order(self, columns):
        """(ORDER BY, the positions of its terms among the columns); a total order if all columns are in it."""
        terms = self.rng.sample(range(len(columns)), self.rng.randrange(1, len(columns) + 1))
        text = ", ".join(f"{columns[i]}{self.pick('', '', ' ASC', ' DESC')}" for i in terms)
        return f" ORDER BY {text}", terms

    def usual_order(self, alias, columns):
        """The orders that plans may consume."""
        choices = ["rank", "similarity DESC", "similarity DESC, rank", "word, rank", "word, similarity DESC", "rank DESC",
                   "similarity", "word DESC, rank", "word"]
        wanted = self.rng.choice(choices).split(", ")
        names = [f"{alias}.{term.split()[0]}" for term in wanted]
        if not all(name in columns for name in names):
            return self.order(columns)
        return " ORDER BY " + ", ".join(f"{alias}.{term}" for term in wanted), [columns.index(n) for n in names]

    def finish(self, body, columns, alias, select="SELECT"):
        """Adds the select list, ORDER BY and LIMIT around `body`, which starts with FROM."""
        statement = Pair(f"{select} {', '.join(columns)} ") + body
        order, key, limit = "", [], ""
        if self.chance(0.6):
            order, key = self.usual_order(alias, columns) if self.chance(0.5) else self.order(columns)
        if self.chance(0.35):
            limit = f" LIMIT {self.pick(0, 1, 2, 3, 7, 100, -1)}" + self.pick("", "", f" OFFSET {self.pick(0, 1, 2, 5)}")
        return self.case(statement, order, key, limit)

    def case(self, statement, order="", key=(), limit=""):
        whole = statement + order
        # Only some of the values that were drawn came into the statement; hosts bind exactly those that did.
        used = sorted({int(number) for number in PARAMETER.findall(whole.virtual)})
        assert used == sorted({int(number) for number in PARAMETER.findall(whole.ordinary)})
        def renumbered(sql):
            return PARAMETER.sub(lambda match: f"?{used.index(int(match[1])) + 1}", sql)
        return {"virtual": renumbered((whole + limit).virtual), "ordinary": renumbered((whole + limit).ordinary),
                "unlimited": renumbered(whole.ordinary) if limit else None, "key": list(key),
                "parameters": [encoded(self.parameters[number - 1]) for number in used], "tags": self.tags}

    def where(self, conditions):
        return joined([Pair(" WHERE ")], "") + joined(conditions, " AND ") if conditions else Pair("")

    def simple(self):
        n = self.occurrence("n")
        body = "FROM " + n.source + self.where(n.conditions + self.filters("n"))
        return self.finish(body, self.columns("n", n), "n", self.pick("SELECT", "SELECT", "SELECT DISTINCT"))

    def join(self):
        n = self.occurrence("n", "t")
        tables, conditions = n.source, n.conditions + self.filters("n")
        kind = self.rng.randrange(4)
        if kind == 0:
            body = "FROM t, " + tables + self.where(conditions)
        elif kind == 1:
            body = "FROM t JOIN " + tables + " ON " + joined(conditions, " AND ")
        elif kind == 2:
            body = "FROM t LEFT JOIN " + tables + " ON " + joined(conditions, " AND ")
        else:
            body = "FROM t CROSS JOIN " + tables + self.where(conditions)
        if kind in (1, 2) and self.chance(0.4):
            body = body + " WHERE " + self.pick("t.id < 6", "t.tag IS NOT NULL", "n.neighbor IS NULL", "n.rank < 3", "t.id = 3")
        return self.finish(body, self.columns("n", n) + ["t.id"], "n")

    def join_words(self):
        n = self.occurrence("n")
        conditions = n.conditions + self.filters("n", "u")
        link = Pair(f"{self.pick('n.neighbor', 'u.word', 'n.neighbor')} = {self.pick('u.word', 'u.word_nc', 'n.neighbor')}")
        kind = self.rng.randrange(4)
        if kind == 0:
            body = "FROM " + n.source + ", u" + self.where(conditions + [link])
        elif kind == 1:
            body = "FROM u JOIN " + n.source + " ON " + joined(conditions + [link], " AND ")
        elif kind == 2:
            body = "FROM u LEFT JOIN " + n.source + " ON " + joined(conditions + [link], " AND ")
        else:
            body = "FROM " + n.source + " LEFT JOIN u ON " + link + self.where(conditions[:len(n.conditions)])
        return self.finish(body, self.columns("n", n) + ["u.id"], "n")

    def lateral(self):
        """The neighbours of neighbours."""
        a = self.occurrence("a")
        conditions = a.conditions + [Pair(f"a.rank <= {self.pick(1, 2, 3)}")]
        k = self.pick("1", "2", "5")
        if self.chance(0.5):
            second = Pair(f"glove_nn(a.neighbor, NULL, {k}) b", "r b")
            extra = [Pair("1", "b.word = a.neighbor AND b.expr IS NULL AND b.k = " + k)]
        else:
            second = Pair("glove_nn b", "r b")
            extra = [Pair("b.word = a.neighbor", "b.word = a.neighbor AND b.expr IS NULL AND b.k IS NULL"),
                     Pair(f"b.rank <= {k}")]
        body = "FROM " + a.source + ", " + second + self.where(conditions + extra + self.filters("b"))
        return self.finish(body, ["a.neighbor", "b.neighbor", "b.rank", "b.word"], "b")

    def twice(self):
        """Two searches side by side."""
        a, b = self.occurrence("a"), self.occurrence("b")
        body = "FROM " + a.source + ", " + b.source + self.where(
            a.conditions + b.conditions + [Pair(self.pick("a.neighbor = b.neighbor", "a.rank = b.rank", "a.neighbor < b.neighbor"))] +
            self.filters("a") + [Pair("a.rank <= 6")])
        return self.finish(body, ["a.neighbor", "b.neighbor", "a.rank", "b.rank"], "a")

    def grouped(self):
        n = self.occurrence("n")
        group = self.pick("n.neighbor", "n.rank", "n.rank % 3", *[f"n.{c}" for c in n.readable])
        columns = [group] + self.rng.sample(["count(*)", "min(n.similarity)", "max(n.rank)", "sum(n.rank)",
                                             "count(DISTINCT n.neighbor)"], 2)
        body = "FROM " + n.source + self.where(n.conditions + self.filters("n")) + f" GROUP BY {group}"
        if self.chance(0.3):
            body = body + " HAVING count(*) > 1"
        return self.finish(body, columns, "n")

    def aggregate(self):
        n = self.occurrence("n")
        body = "FROM " + n.source + self.where(n.conditions + self.filters("n"))
        columns = self.pick("count(*)", "max(n.similarity), min(n.rank)", "total(n.rank), count(n.neighbor)",
                            "count(DISTINCT n.neighbor), min(n.neighbor)")
        return self.case(f"SELECT {columns} " + body)

    def exists(self):
        n = self.occurrence("n", "t", arguments_allowed=self.chance(0.5))
        conditions = n.conditions + self.filters("n")
        offset = self.pick("", "", "", " LIMIT 1 OFFSET 1")
        if offset:
            self.tags.append("exists_offset")
        if any(" OR " in c.virtual for c in conditions):
            self.tags.append("exists_or")
        inner = "SELECT 1 FROM " + n.source + self.where(conditions) + offset
        statement = f"SELECT t.id FROM t WHERE {self.pick('', 'NOT ')}EXISTS (" + inner + ")"
        return self.case(statement, " ORDER BY t.id", [0])

    def scalar(self):
        n = self.occurrence("n", "t", arguments_allowed=self.chance(0.5))
        what = self.pick("count(*)", "max(n.similarity)", "min(n.rank)", "group_concat(n.neighbor ORDER BY n.rank)")
        if "ORDER" in what:
            what = "sum(n.rank)"
        inner = f"SELECT {what} FROM " + n.source + self.where(n.conditions + self.filters("n"))
        return self.case("SELECT t.id, (" + inner + ") FROM t", " ORDER BY t.id", [0])

    def membership(self):
        n = self.occurrence("n")
        inner = "SELECT n.neighbor FROM " + n.source + self.where(n.conditions + self.filters("n"))
        column = self.pick("word", "word_nc", "num", "any")
        return self.case(f"SELECT u.id FROM u WHERE u.{column} {self.pick('', 'NOT ')}IN (" + inner + ")",
                         " ORDER BY u.id", [0])

    def compound(self):
        a, b = self.occurrence("n"), self.occurrence("n")
        parts = ["SELECT n.neighbor, n.rank FROM " + x.source + self.where(x.conditions + self.filters("n")) for x in (a, b)]
        whole = parts[0] + f" {self.pick('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')} " + parts[1]
        order, key = self.pick(("", []), (" ORDER BY 1, 2", [0, 1]), (" ORDER BY 2, 1", [1, 0]))
        limit = self.pick("", " LIMIT 4", " LIMIT 3 OFFSET 2")
        return self.case(whole, order, key, limit)

    def alternatives(self):
        """Searches joined by OR, each with conditions of its own."""
        branches = []
        for _ in range(self.pick(2, 2, 3)):
            word = self.value(self.word_value())
            branch = [Pair(f"n.word = {word}", f"n.word = {as_text(word)}")]
            branch += [Pair(self.filter("n")) for _ in range(self.pick(0, 1, 1, 2))]
            branches.append("(" + joined(branch, " AND ") + ")")
        conditions = ["(" + joined(branches, " OR ") + ")", Pair("1", "n.expr IS NULL AND n.k IS NULL")]
        conditions += self.filters("n")
        body = Pair("FROM glove_nn n", "FROM r n") + self.where(conditions)
        return self.finish(body, ["n.neighbor", "n.rank", "n.word"][:self.pick(2, 3)], "n")

    def row_values(self):
        """Several columns in one IN. SQLite keeps some of these to itself; then our message is the answer. It compares
        the parts of a virtual table as text or not at all, so only TEXT columns stand for words."""
        self.tags.append("refusable")
        column = self.pick("word", "word_nc", "num")
        other = self.pick("n.neighbor", "n.rank")
        value = self.pick("word", "word_nc") if other == "n.neighbor" else self.pick("id", "num")
        if self.chance(0.5):
            pairs = [f"({literal(self.word_value())}, {literal(self.neighbor_value()) if other == 'n.neighbor' else i})"
                     for i in range(1, 4)]
            condition = Pair(f"(n.word, {other}) IN (VALUES {', '.join(pairs)})")
        else:
            condition = Pair(f"(n.word, {other}) IN (SELECT {column}, {value} FROM u)",
                             f"(n.word, {other}) IN (SELECT {as_text(column)}, {value} FROM u)")
        conditions = [condition, Pair("1", "n.expr IS NULL AND n.k IS NULL")] + self.filters("n")
        body = Pair("FROM glove_nn n", "FROM r n") + self.where(conditions)
        return self.finish(body, ["n.neighbor", "n.rank", "n.word"], "n")

    def common_table(self):
        n = self.occurrence("n")
        inner = "SELECT n.neighbor, n.similarity, n.rank FROM " + n.source + self.where(n.conditions + self.filters("n"))
        limit = self.pick("", "", " ORDER BY n.rank, n.similarity, n.neighbor LIMIT 5")
        materialized = self.pick("AS", "AS MATERIALIZED", "AS NOT MATERIALIZED")
        statement = f"WITH c(neighbor, similarity, rank) {materialized} (" + inner + limit + \
            ") SELECT x.neighbor, x.rank, y.neighbor FROM c x JOIN c y ON " + \
            self.pick("x.rank = y.rank", "x.rank = y.rank + 1", "x.neighbor = y.neighbor")
        return self.case(statement)

    def windowed(self):
        n = self.occurrence("n")
        over = self.pick("ORDER BY n.rank, n.similarity, n.neighbor", "PARTITION BY n.rank % 2 ORDER BY n.rank, n.neighbor, n.similarity")
        body = f"SELECT n.neighbor, n.rank, sum(n.rank) OVER ({over}) FROM " + n.source + \
            self.where(n.conditions + self.filters("n"))
        return self.case(body)

    def through_view(self):
        view = self.pick("v_king", "v_top")
        other = self.pick("", " JOIN u ON u.word = n.neighbor")
        body = Pair(f"FROM {view} n{other}", f"FROM r_{view} n{other}") + self.where(self.filters("n"))
        return self.finish(body, ["n.neighbor", "n.rank"], "n")

    def statement(self):
        self.parameters, self.tags = [], []
        shape = self.rng.choices(
            [self.simple, self.join, self.join_words, self.lateral, self.twice, self.grouped, self.aggregate, self.exists,
             self.scalar, self.membership, self.compound, self.alternatives, self.row_values, self.common_table,
             self.windowed, self.through_view],
            [10, 8, 8, 4, 3, 4, 3, 3, 3, 3, 4, 6, 2, 3, 2, 2])[0]
        case = shape()
        case["shape"] = shape.__name__
        return case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("model")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--queries", type=int, required=True)
    parser.add_argument("--loops", action="store_true")
    parser.add_argument("--metric", default="cosine")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    model = Model(rng, arguments.metric)
    with open(arguments.model, "w", encoding="utf-8") as file:
        file.write(model.text())
    # Bound and not written as literals, which SQLite may round by a bit.
    relation = [[encoded(value) for value in row] for row in model.relation()]
    set_up_statements = list(set_up(rng, model, arguments.model, arguments.loops))
    generator = Generator(rng, model)
    cases = [generator.statement() for _ in range(arguments.queries)]
    with open(arguments.out, "w", encoding="utf-8") as file:
        text = json.dumps({"seed": arguments.seed, "set_up": set_up_statements, "relation": relation, "cases": cases})
        file.write(text.replace("similarity", "distance") if arguments.metric == "l2" else text)


if __name__ == "__main__":
    main()
