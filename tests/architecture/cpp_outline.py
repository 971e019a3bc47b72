"""The outline of a C++ source: its types, functions and declarations at namespace scope, found by matching braces.

No compiler is needed, because the sources keep to one layout (.clang-format). Comments, literals and preprocessor lines are
blanked first, so that what is left is code in its old place; then every brace is matched. A brace at namespace or class scope
opens a namespace, a type, a function or an initializer, which the text before it tells apart.
"""
import functools
import re
from dataclasses import dataclass

BLANKED = re.compile(
    r'R"(?P<d>[^()\\\s]{0,16})\(.*?\)(?P=d)"'  # raw strings first: they may hold anything
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    r'|//[^\n]*|/\*.*?\*/', re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
TYPE_HEAD = re.compile(r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\b")
ALIAS = re.compile(r"^using\s+(\w+)\s*=")
ACCESS = re.compile(r"\s*(?:public|private|protected)\s*")
FUNCTION_TYPE = re.compile(r"<[\w:\s*&]*\([^()]*\)\s*>")
MACRO_CALL = re.compile(r"^[A-Z][A-Z0-9]*_[A-Z0-9_]*\s*\(")


@dataclass
class Declaration:
    kind: str  # "type", "function", "alias", or "data": a data member
    name: str  # of a type or alias: as it is written, such as Writer::State
    first_line: int
    last_line: int
    nested: bool  # inside a class
    defined: bool  # has a body
    owner: "Declaration | None" = None  # the type that it is a member of


def blank(text):
    """Returns the code alone: everything else becomes spaces, and every line keeps its place."""
    def spaces(match):
        kept = '""' if match[0][0] in '"R' else "  "
        return kept + re.sub(r"[^\n]", " ", match[0])[2:] if len(match[0]) >= 2 and "\n" not in match[0][:2] else " "
    text = BLANKED.sub(spaces, text)
    return PREPROCESSOR.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def matching_braces(code):
    """{position of each opening brace: position of its closing one}; unclosed ones end with the text."""
    pairs, stack = {}, []
    for match in re.finditer(r"[{}]", code):
        if match[0] == "{":
            stack.append(match.start())
        elif stack:
            pairs[stack.pop()] = match.start()
    pairs.update({begin: len(code) for begin in stack})
    return pairs


def without_templates(head):
    """Without template<...> and attributes (of the language or by macros of base/mutex.h), which may hold any words."""
    head = re.sub(r"\bGLOVE_[A-Z_]+\b(?:\([^()]*\))?", " ", head)
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^()]*\)|__\w+__\s*\(+[^()]*\)+", " ", head, flags=re.DOTALL)
    while (match := re.match(r"\s*template\s*<", head)):
        depth, at = 1, match.end()
        while at < len(head) and depth:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:]
    return re.sub(r"^\s*requires\b.*?(?=\b(?:class|struct|inline|constexpr|auto|void)\b)", " ", head, flags=re.DOTALL).strip()


def first_outside(head, wanted):
    """Returns where the character `wanted` first occurs in `head`, outside brackets and not as ::, ==, <=, >= or !=."""
    depth = 0
    for match in re.finditer(r"[()\[\]%s]" % wanted, head):
        at, character = match.start(), match[0]
        if character == wanted and depth == 0:
            pair, before = head[at:at + 2], head[at - 1:at + 1]
            if pair not in ("::", "==") and before not in ("::", "==", "<=", ">=", "!="):
                return at
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
    return -1


def kind_of(head):
    """Returns (kind, name) of what a brace or a semicolon after `head` belongs to."""
    head = without_templates(head)
    if re.match(r"(?:inline\s+)?namespace\b|extern\s*\"\s*\"$", head):
        return "namespace", ""
    if (alias := ALIAS.match(head)):
        return "alias", alias[1]
    if re.match(r"(?:using|typedef|static_assert|friend|extern\s+template)\b", head) or MACRO_CALL.match(head):
        return "other", ""
    whole, head = head, FUNCTION_TYPE.sub(" ", head)  # such as that of std::function<void(int)> member;
    parenthesis = first_outside(head, "(")
    assignment = first_outside(re.sub(r"operator\s*[^\s\w(]+", "operator", head), "=")
    if parenthesis >= 0 and (assignment < 0 or assignment > parenthesis):
        name = re.search(r"(operator\s*\S+|[\w:~]+)\s*$", head[:parenthesis])
        return "function", name[1] if name else ""
    if assignment < 0 and (found := TYPE_HEAD.match(whole)):
        rest = whole[found.end():]
        colon = first_outside(rest, ":")
        named = re.fullmatch(r"\s*([\w:]+)(?:\s+final)?\s*", rest[:colon] if colon >= 0 else rest)
        return "type", named[1] if named else ""  # no name: a specialization, a variable, or no name indeed
    return "other", ""


def is_data(head):
    """Whether a declaration in a class is a data member: each object has one."""
    head = without_templates(head)
    return head != "" and not re.match(r"(?:static|using|typedef|friend|static_assert|class|struct|union|enum)\b", head)


@functools.lru_cache(maxsize=None)
def outline(text):
    """The declarations of a source at namespace and class scope, in order."""
    code = blank(text)
    braces = matching_braces(code)
    found = []

    def line(position):
        return code.count("\n", 0, position) + 1

    def start_of(begin, end):
        return begin + len(code[begin:end]) - len(code[begin:end].lstrip())

    def add(kind, name, begin, end, last, owner, defined):
        found.append(Declaration(kind, name, line(start_of(begin, end)), line(last), owner is not None, defined, owner))

    def scan(at, end, owner):
        begin = at
        while at < end:
            character = code[at]
            if character == ";":
                kind, name = kind_of(code[begin:at])
                if kind in ("function", "alias"):
                    add(kind, name, begin, at, at, owner, False)
                elif owner is not None and is_data(code[begin:at]):
                    add("data", "", begin, at, at, owner, False)
                begin = at + 1
            elif character == ":" and ACCESS.fullmatch(code, begin, at):
                begin = at + 1
            elif character == "{":
                closing = min(braces[at], end)
                head = code[begin:at]
                kind, name = kind_of(head)
                if head.count("(") > head.count(")"):
                    at = closing + 1  # a lambda or a list among arguments
                    continue
                if kind == "namespace":
                    scan(at + 1, closing, owner)
                elif kind == "type":
                    add(kind, name, begin, at, closing, owner, True)
                    if not re.match(r"enum\b", without_templates(head)):
                        scan(at + 1, closing, found[-1])
                elif kind == "function" and code[closing + 1:].lstrip()[:1] in (",", "{"):
                    at = closing + 1  # a member's initializer: the body is still to come
                    continue
                elif kind == "function" and head.lstrip().startswith("catch"):
                    found[-1].last_line = line(closing)  # of a function that is a try block
                elif kind == "function":
                    add(kind, name, begin, at, closing, owner, True)
                else:
                    at = closing + 1  # an initializer: the declaration goes on to its semicolon
                    continue
                at = begin = closing
                begin += 1
            at += 1

    scan(0, len(code), None)
    return found
