"""The infix syntax of the contract: `status == "open" and labels contains "alpha"`; also not, or, in […] and ( )."""

from __future__ import annotations

import re
from typing import NamedTuple

from postil.tracker.query.tree import All, Any, Node, Not, QueryFault, compare, find_field

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<op>==|!=|>=|<=|=|>|<|!~|~|&&|\|\||!)
    | (?P<mark>[()\[\],])
    | (?P<word>[^\s()\[\],"'=!<>~&|]+)
    )""",
    re.VERBOSE,
)
_COMPARISONS = {"==": "=", "=": "=", "!=": "!=", ">": ">", "<": "<", ">=": ">=", "<=": "<=", "~": "~", "!~": "!~"}
_DEEPEST = 64


class Token(NamedTuple):
    """One piece of the text and where it begins."""

    kind: str
    text: str
    position: int

    @property
    def word(self) -> str:
        """The piece as a keyword; empty for a quoted string."""
        return self.text.lower() if self.kind in ("word", "op", "mark") else ""


def tokenize(text: str) -> list[Token]:
    """Returns the pieces of a query."""
    found: list[Token] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            bad = at + len(text[at:]) - len(text[at:].lstrip())
            unclosed = text[bad] in "\"'"
            raise QueryFault(
                "unterminated string" if unclosed else f"unexpected character `{text[bad]}`",
                bad,
                "close the quotation" if unclosed else "quote values that hold special characters",
            )
        kind = match.lastgroup
        piece = match[kind]
        found.append(Token(kind, _unquote(piece) if kind == "string" else piece, match.start(kind)))
        at = match.end()
    return found


def parse_infix(text: str) -> Node:
    """Returns the tree of an infix query."""
    return _Parser(tokenize(text), len(text)).whole()


class _Parser:
    def __init__(self, found: list[Token], end: int) -> None:
        self._tokens = found
        self._end = Token("end", "", end)
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        tree = self._either()
        left = self._peek()
        if left.kind != "end":
            raise QueryFault(f"unexpected `{left.text}`", left.position, "join conditions with and / or")
        return tree

    def _peek(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else self._end

    def _take(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _took(self, *words: str) -> bool:
        if self._peek().word in words and self._peek().kind != "end":
            self._at += 1
            return True
        return False

    def _either(self) -> Node:
        items = [self._both()]
        while self._took("or", "||"):
            items.append(self._both())
        return items[0] if len(items) == 1 else Any(tuple(items))

    def _both(self) -> Node:
        items = [self._one()]
        while self._took("and", "&&"):
            items.append(self._one())
        return items[0] if len(items) == 1 else All(tuple(items))

    def _one(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise QueryFault("the filter is nested too deeply", self._peek().position, "simplify it")
        try:
            if self._took("not", "!"):
                return Not(self._one())
            if self._peek().word == "(":
                opened = self._take()
                tree = self._either()
                if not self._took(")"):
                    raise QueryFault("missing `)`", self._peek().position, f"the one opened at {opened.position}")
                return tree
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Node:
        name = self._take()
        if name.kind == "end":
            raise QueryFault("empty expression", name.position, 'write a condition such as status == "open"')
        if name.kind != "word":
            raise QueryFault(f"unexpected `{name.text}`", name.position, "a condition begins with a field")
        # A wrong field is told before a missing operator: it is the likelier mistake.
        find_field(name.text, name.position)
        op = self._take()
        negated = op.word == "not" and self._took("in", "contains")
        if negated:
            op = self._tokens[self._at - 1]
        if op.word in ("in", "contains"):
            values, at = self._values(op)
            tree: Node = compare(name.text, op.word, values, name.position, at)
            return Not(tree) if negated else tree
        symbol = _COMPARISONS.get(op.text) if op.kind == "op" else None
        if symbol is None:
            raise QueryFault(f"an operator must follow `{name.text}`", op.position, f'for example {name.text} == "…"')
        values, at = self._values(op)
        if symbol == "!~":
            return Not(compare(name.text, "~", values, name.position, at))
        return compare(name.text, symbol, values, name.position, at)

    def _values(self, op: Token) -> tuple[list[str], int]:
        first = self._take()
        if first.word in ("[", "(") and op.word in ("in", "contains"):
            closing = "]" if first.text == "[" else ")"
            values: list[str] = []
            while not self._took(closing):
                token = self._take()
                if token.kind not in ("string", "word"):
                    raise QueryFault("the list has no end", token.position, f"close it with `{closing}`")
                values.append(token.text)
                self._took(",")
            return values, first.position
        if first.kind not in ("string", "word"):
            raise QueryFault(f"a value must follow `{op.text}`", first.position, 'for example "open"')
        return [first.text], first.position


def _unquote(piece: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], piece[1:-1], flags=re.DOTALL)
