"""The S-expressions of the program the contract describes: `(and (= status open) (contains labels docs))`."""

from __future__ import annotations

import re

from postil.tracker.query.tree import OPERATORS, All, Any, Node, Not, QueryFault, compare, suggest

_TOKEN = re.compile(r'\s*(?:(?P<mark>[()])|(?P<string>"(?:[^"\\]|\\.)*")|(?P<word>[^\s()"][^\s()]*))')
_HEAD = re.compile(
    r"\s*\(\s*(?:(?P<sure>(?:and|or)(?=[\s(])|[=!<>~]+(?=\s)|in(?=\s)|contains(?=\s))|not\s*(?P<more>\())"
)
_DEEPEST = 64
_LOGIC = {"and": "And", "or": "Or"}

Piece = tuple[str, str, int]


def looks_like_sexpr(text: str) -> bool:
    """Returns whether the text is written the prefix way (an infix query may begin with a parenthesis too)."""
    at = 0
    while found := _HEAD.match(text, at):
        if found["sure"]:
            return True
        at = found.start("more")
    return False


def parse_sexpr(text: str) -> Node:
    """Returns the tree of an S-expression."""
    pieces = _tokenize(text)
    tree, at = _read_expression(pieces, 0, len(text), 0)
    if at < len(pieces):
        raise QueryFault("unexpected text after the expression", pieces[at][2], "join two expressions with (and … …)")
    return tree


def _tokenize(text: str) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            bad = at + len(text[at:]) - len(text[at:].lstrip())
            raise QueryFault("unterminated string", bad, "close the quotation")
        kind = match.lastgroup
        piece = match[kind]
        if kind == "string":
            piece = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], piece[1:-1], flags=re.DOTALL)
        found.append((kind, piece, match.start(kind)))
        at = match.end()
    return found


def _read_expression(pieces: list[Piece], at: int, end: int, depth: int) -> tuple[Node, int]:
    if depth > _DEEPEST:
        raise QueryFault("the filter is nested too deeply", pieces[at][2], "simplify it")
    if at >= len(pieces):
        raise QueryFault("empty expression", end, "write a condition such as (= status open)")
    if pieces[at][:2] != ("mark", "("):
        raise QueryFault("unexpected atom", pieces[at][2], "write a condition such as (= status open)")
    opened = pieces[at][2]
    at += 1
    if at >= len(pieces) or pieces[at][:2] == ("mark", ")"):
        raise QueryFault("empty expression", opened, "write a condition such as (= status open)")
    kind, head, position = pieces[at]
    at += 1
    if kind != "mark" and head in ("and", "or", "not"):
        items: list[Node] = []
        while at < len(pieces) and pieces[at][:2] != ("mark", ")"):
            item, at = _read_expression(pieces, at, end, depth + 1)
            items.append(item)
        after = _skip_closing(pieces, at, end, opened)
        if head == "not":
            if len(items) != 1:
                raise QueryFault("logical operator `Not` requires exactly 1 operand", position, "(not (= status open))")
            return Not(items[0]), after
        if len(items) < 2:
            raise QueryFault(f"logical operator `{_LOGIC[head]}` requires at least 2 operand(s)", position)
        return (All(tuple(items)) if head == "and" else Any(tuple(items))), after
    op = "=" if head == "==" else head
    if kind == "mark" or op not in OPERATORS:
        raise QueryFault(f"unknown operator `{head}`", position, suggest(head, ["and", "or", "not", *OPERATORS]))
    atoms: list[Piece] = []
    while at < len(pieces) and pieces[at][0] != "mark":
        atoms.append(pieces[at])
        at += 1
    after = _skip_closing(pieces, at, end, opened)
    if not atoms:
        raise QueryFault(f"comparison operator `{OPERATORS[op]}` requires a field", position, f"({head} status open)")
    name, values = atoms[0], atoms[1:]
    at_value = values[0][2] if values else pieces[after - 1][2]
    return compare(name[1], op, [value[1] for value in values], name[2], at_value), after


def _skip_closing(pieces: list[Piece], at: int, end: int, opened: int) -> int:
    if at >= len(pieces):
        raise QueryFault("missing `)`", end, f"the one opened at {opened}")
    if pieces[at][1] != ")" or pieces[at][0] != "mark":
        raise QueryFault("unexpected list", pieces[at][2], "values are atoms")
    return at + 1
