"""SQL that is written twice, and the many ways in which a statement gives glove_nn its inputs.

An input is not an attribute: it is asked with the text of its value, bytes by bytes, and NULL means "not given"; a NULL
word has no rows unless expr stands on its own. The ordinary table's side says so in SQL (see Occurrence). Everything else
is the same text on both sides.
"""

from relation import CONTINUATIONS, EXPRESSIONS, KS, STRANGE_WORDS


def encoded(value):
    """A parameter as JSON: a BLOB as {"blob": hex}."""
    return {"blob": value.hex()} if isinstance(value, bytes) else value


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def as_text(sql):
    """What word is asked with when the value is `sql`, which is no BLOB."""
    return f"CAST({sql} AS TEXT)"


def as_k(sql):
    return f"CAST({sql} AS INTEGER)"


class Pair:
    """The same SQL twice: for the virtual table and for the ordinary one."""

    def __init__(self, virtual, ordinary=None):
        self.virtual = virtual
        self.ordinary = virtual if ordinary is None else ordinary

    def __add__(self, other):
        other = other if isinstance(other, Pair) else Pair(other)
        return Pair(self.virtual + other.virtual, self.ordinary + other.ordinary)

    def __radd__(self, other):
        return Pair(other) + self


def joined(pairs, separator):
    result = Pair("")
    for i, pair in enumerate(pairs):
        result = result + (separator if i else "") + pair
    return result


class Occurrence:
    """One glove_nn in a FROM clause: `source`, and the `conditions` that give its inputs."""

    def __init__(self, source, conditions, readable):
        self.source = source
        self.conditions = conditions
        self.readable = readable  # the hidden columns that may be read


class Inputs:
    """Draws values and occurrences of glove_nn. `parameters` are the values bound so far, `tags` what compare.py has to
    know of the statement."""

    def __init__(self, rng, model):
        self.rng = rng
        self.model = model
        self.parameters = []
        self.tags = []

    # ---- values ----

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, *choices):
        return self.rng.choice(choices)

    def word_value(self):
        if self.chance(0.03):
            return None
        if self.chance(0.08):
            return self.rng.choice(STRANGE_WORDS)
        if self.chance(0.4):
            return self.pick("king", "5", "05", "twin1", "paris")
        return self.rng.choice(self.model.words)

    def neighbor_value(self):
        if self.chance(0.25):
            return self.rng.choice(self.model.words).swapcase()
        return self.rng.choice(self.model.words + ["nobody", "", None])

    def value(self, value):
        """A literal, or a bound parameter."""
        if self.chance(0.25) and not isinstance(value, bool):
            self.parameters.append(value)
            return f"?{len(self.parameters)}"
        return literal(value)

    # ---- inputs ----

    def word_pair(self, alias, outer):
        """A condition that gives word; `outer` is the alias of a table t in scope, or None."""
        left = f"{alias}.word"
        if outer and self.chance(0.7):
            sql = f"{outer}.{self.pick('tag', 'tag', 'tag_nc', 'num', 'real', 'any')}"
            op = self.pick("=", "=", "=", "IS")
            virtual = f"{left} {op} {sql}" if self.chance(0.8) else f"{sql} {op} {left}"
            return Pair(virtual, f"{left} = {as_text(sql)}")
        form = self.rng.randrange(10)
        if form < 5:
            sql = self.value(self.word_value())
            return Pair(f"{left} {self.pick('=', '=', '==', 'IS')} {sql}", f"{left} = {as_text(sql)}")
        if form < 7:
            values = [self.value(self.word_value()) for _ in range(self.rng.randrange(1, 5))]
            return Pair(f"{left} IN ({', '.join(values)})", f"{left} IN ({', '.join(map(as_text, values))})")
        if form < 8:
            a, b = self.value(self.word_value()), self.value(self.word_value())
            return Pair(f"({left} = {a} OR {left} = {b})", f"({left} = {as_text(a)} OR {left} = {as_text(b)})")
        column = self.pick("tag", "tag_nc", "num", "any")
        where = self.pick("", " WHERE id < 6", " ORDER BY id DESC LIMIT 3", " WHERE id > 100")
        return Pair(f"{left} IN (SELECT {column} FROM t{where})",
                    f"{left} IN (SELECT {as_text(column)} FROM t{where})")

    def vector_pair(self, alias, outer):
        """A condition that gives expr a vector."""
        left = f"{alias}.expr"
        if outer and self.chance(0.6):
            return Pair(self.pick(f"{left} = {outer}.bin", f"{left} IS {outer}.bin", f"{outer}.bin = {left}"))
        vectors = [self.value(vector) for vector in self.rng.sample(self.model.blobs, 2)]
        return Pair(self.pick(f"{left} = {vectors[0]}", f"{left} IN ({', '.join(vectors)})",
                              f"{left} IN (SELECT bin FROM t WHERE id < 6)"))

    def no_word(self, alias):
        """Beside an expr that stands on its own: no word, or NULL."""
        if self.chance(0.7):
            return Pair("1", f"{alias}.word IS NULL")
        self.tags.append("null_input")
        return Pair(f"{alias}.word {self.pick('=', 'IS')} NULL", f"{alias}.word IS NULL")

    def k_pair(self, alias, outer, readable):
        left = f"{alias}.k"
        if outer and self.chance(0.3):
            sql = f"{outer}.k"
            self.tags.append("null_input")
            return Pair(f"{left} = {sql}", f"{left} IS {as_k(sql)}")
        if self.chance(0.12):
            readable.append("k")
            values = [str(self.rng.choice(KS[1:])) for _ in range(self.rng.randrange(1, 4))]
            return Pair(f"{left} IN ({', '.join(values)})")
        value = self.pick(*KS[2:], *KS[2:], 0, "3", 2.0, None)
        if value is None:
            self.tags.append("null_input")
        else:
            readable.append("k")
        sql = self.value(value)
        return Pair(f"{left} {self.pick('=', '=', 'IS')} {sql}", f"{left} IS {as_k(sql)}")

    def occurrence(self, alias, outer=None, arguments_allowed=True):
        """A glove_nn with one query, given in one of the many ways."""
        form = self.rng.random()
        with_k = self.chance(0.55)
        if arguments_allowed and form < 0.65 and self.chance(0.35):
            return self.by_arguments(alias, outer, with_k)
        conditions, readable = [], []
        if form < 0.65:
            conditions += [self.word_pair(alias, outer), Pair("1", f"{alias}.expr IS NULL")]
            readable.append("word")
        elif form < 0.75:
            conditions += [self.no_word(alias), self.vector_pair(alias, outer)]
            readable.append("expr")
        elif form < 0.91:
            if self.chance(0.25):
                values = ", ".join(literal(e) for e in self.rng.sample(EXPRESSIONS, 3))
                conditions += [self.no_word(alias), Pair(f"{alias}.expr IN ({values})")]
            else:
                conditions += [self.no_word(alias), Pair(f"{alias}.expr = {self.value(self.rng.choice(EXPRESSIONS))}")]
            readable.append("expr")
        else:
            word, expr = self.rng.choice(CONTINUATIONS)
            conditions += [Pair(f"{alias}.word = {literal(word)}"), Pair(f"{alias}.expr = {self.value(expr)}")]
            readable += ["word", "expr"]
        if with_k:
            conditions.append(self.k_pair(alias, outer, readable))
        else:
            conditions.append(Pair("1", f"{alias}.k IS NULL"))
        if self.chance(0.15):
            conditions.append(Pair(f"{alias}.{self.pick('model = ' + literal('m'), 'backend = ' + literal('cpu'))}", "1"))
        self.rng.shuffle(conditions)
        return Occurrence(Pair(f"glove_nn {alias}", f"r {alias}"), conditions, readable)

    def by_arguments(self, alias, outer, with_k):
        if outer and self.chance(0.8):
            word = f"{outer}.{self.pick('tag', 'tag', 'tag_nc', 'num', 'any')}"
        else:
            word = self.value(self.word_value())
        expr, readable = "NULL", ["word"]
        conditions = [Pair("1", f"{alias}.word = {as_text(word)}"), Pair("1", f"{alias}.expr IS NULL")]
        if self.chance(0.15):
            expr, readable = self.value(self.rng.choice(EXPRESSIONS + tuple(self.model.blobs))), ["expr"]
            self.tags.append("null_input")
            conditions = [Pair("1", f"{alias}.word IS NULL"), Pair("1", f"{alias}.expr = {expr}")]
            word = "NULL"
        if not with_k:
            conditions.append(Pair("1", f"{alias}.k IS NULL"))
            arguments = word + (f", {expr}" if expr != "NULL" or self.chance(0.2) else "")
            return Occurrence(Pair(f"glove_nn({arguments}) {alias}", f"r {alias}"), conditions, readable)
        k_value = self.pick(*KS, *KS[2:])
        k = f"{outer}.k" if outer and self.chance(0.2) else self.value(k_value)
        k_known = k_value is not None and not k.endswith(".k")
        if not k_known:
            self.tags.append("null_input")
        conditions.append(Pair("1", f"{alias}.k IS {as_k(k)}"))
        more = self.pick("", ", NULL", ", 'm'", ", 'm', 'cpu'")
        return Occurrence(Pair(f"glove_nn({word}, {expr}, {k}{more}) {alias}", f"r {alias}"), conditions,
                          readable + ["k"] if k_known else readable)
