"""The functions, classes and other named things of a text, and which one a line belongs to.

Read from the syntax tree; a language without a grammar has no symbols, and that is not an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache, partial
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

from msgspec import Struct

from postil.anchor.model import Span
from postil.anchor.syntax import definitions
from postil.anchor.syntax.definitions import TYPES, Rows, Siblings, decorated_row, first_row, last_row
from postil.anchor.syntax.languages import LARGEST_KEPT, Parsed, ask_worker, grammar, is_over, parse
from postil.anchor.syntax.names import FUNCTIONS, say_name
from postil.anchor.syntax.queries import DEEPEST_NODE, is_dear, run_query

if TYPE_CHECKING:
    from tree_sitter import Node, Query, QueryCursor

MOST_CONTAINERS = 40
"""Definitions inside each other that are told apart: each level is looked at once more for each line inside it."""
LOOK_EVERY = 64
"""Things after which this process looks at its CPU time."""


class Symbol(Struct, frozen=True):
    """A named thing and the lines it covers, with the decorators and comments that stand directly above it."""

    name: str
    kind: str
    span: Span
    containers: tuple[str, ...] = ()  # outermost first
    line: int = 0  # where the definition itself begins, below its decorators and comments
    top: int = 0  # where its first decorator begins, or the definition: an editor's symbol begins there

    @property
    def path(self) -> tuple[str, ...]:
        return (*self.containers, self.name)

    @property
    def is_function(self) -> bool:
        return self.kind in FUNCTIONS

    @property
    def short(self) -> str:
        """`validatePassword()`, `AuthService class`."""
        return say_name(self.name, self.kind)

    @property
    def label(self) -> str:
        """`validatePassword() in AuthService`."""
        return f"{self.short} in {self.containers[-1]}" if self.containers else self.short

    @property
    def phrase(self) -> str:
        """`function 'validatePassword'`, `class 'AuthService'`: to stand after "the"."""
        kind = "function" if self.is_function else "class" if self.kind in TYPES else self.kind
        return f"{kind} '{self.name}'"


class SyntaxProblem(Struct, frozen=True):
    """A place the grammar could not read."""

    span: Span
    message: str


def symbols(text: str, language: str | None) -> list[Symbol]:
    """Every named thing, in the order they begin, outer before inner."""
    return list((_symbols if len(text) <= LARGEST_KEPT else _symbols.__wrapped__)(text, language))


@lru_cache(2)
def _symbols(text: str, language: str | None) -> tuple[Symbol, ...]:
    if language is None:
        return ()
    parsed = parse(text, language)
    found = symbols_of(parsed, language) if parsed else None
    if found is None:
        return ask_worker("symbols", text, language, tuple[Symbol, ...]) or ()
    return tuple(found)


def symbol_at(text: str, language: str | None, line: int) -> Symbol | None:
    """The innermost named thing a line belongs to; None at the top of a file or without a grammar."""
    return innermost(symbols(text, language), line)


def innermost(found: Sequence[Symbol], line: int) -> Symbol | None:
    """The smallest of the symbols that cover a line."""
    best: Symbol | None = None
    for symbol in found:
        if symbol.span.start > line:
            break
        if line <= symbol.span.last and (best is None or symbol.span.last <= best.span.last):
            best = symbol
    return best


def owners(found: Sequence[Symbol], lines: int) -> list[Symbol | None]:
    """The innermost symbol of each line, by its number; there is no line 0."""
    owner: list[Symbol | None] = [None] * (lines + 1)
    # Those that began, the first to end on top, and of two that end together the later: forty that lie inside each
    # other are not looked at for each of their lines.
    begun: list[tuple[int, int]] = []
    starts, number = [*(symbol.span.start for symbol in found), inf], 0
    for line in range(1, lines + 1):
        while starts[number] <= line:
            heappush(begun, (found[number].span.last, -number))
            number += 1
        while begun and begun[0][0] < line:
            heappop(begun)
        if begun:
            owner[line] = found[-begun[0][1]]
    return owner


def syntax_problems(text: str, language: str | None) -> list[SyntaxProblem]:
    """The syntax errors of a file, in order."""
    if language is None:
        return []
    parsed = parse(text, language)
    found = problems_of(parsed) if parsed else None
    return found if found is not None else ask_worker("problems", text, language, list[SyntaxProblem]) or []


def describe_problem(problem: SyntaxProblem) -> str:
    """Returns a syntax error in the words of a parser: `Unexpected token '}' at line 42`."""
    return f"{problem.message} at line {problem.span.start}"


def problem_at(problems: Sequence[SyntaxProblem], named: Sequence[Symbol], line: int) -> SyntaxProblem | None:
    """The syntax error on a line or in the function it belongs to; errors elsewhere do not matter to the line."""
    symbol = innermost(named, line)
    span = symbol.span if symbol and symbol.kind in FUNCTIONS else Span(line)
    return next((each for each in problems if each.span.start <= span.last and span.start <= each.span.last), None)


def symbols_of(parsed: Parsed, language: str) -> list[Symbol] | None:
    """As `symbols`, of a text already parsed; None where finding them takes too long here."""
    query = _query(language)  # compiling it is no fault of the text
    with parsed.spend() as until:
        root = parsed.tree.root_node
        nodes = run_query(query, root, partial(_find_definitions, root), until)
        return None if nodes is None else _read_symbols(root, nodes, language, until)


def _read_symbols(root: Node, nodes: list[Node], language: str, until: float) -> list[Symbol] | None:
    found: list[tuple[int, int, int, Symbol]] = []  # in the order of their lines, with the lines first
    open_: list[tuple[int, Symbol]] = []  # the definitions that enclose the current one, with the byte they end at
    siblings, rows = Siblings(), Rows(root)
    for number, node in enumerate(sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte))):
        if number % LOOK_EVERY == 0 and is_over(until):
            return None
        name = definitions.name(node, language)
        if not name:
            continue
        while open_ and open_[-1][0] <= node.start_byte:
            open_.pop()
        if len(open_) > MOST_CONTAINERS:
            continue
        kind = definitions.kind(node, language, bool(open_) and open_[-1][1].kind in TYPES)
        containers = open_[-1][1].path if open_ else ()
        if receiver := definitions.receiver(node):
            containers = (*containers, *receiver)
        if language == "cpp":
            *scope, name = name.split("::")
            containers = (*containers, *scope)
        first, last = first_row(node, siblings, rows) + 1, rows.last(node) + 1
        top = decorated_row(node, siblings, rows) + 1
        symbol = Symbol(name, kind, Span(first, last), containers, rows.head(node) + 1, top)
        found.append((first, -last, number, symbol))
        open_.append((node.end_byte, symbol))
    return [symbol for *_, symbol in sorted(found)]


def _find_definitions(root: Node, cursor: QueryCursor) -> list[Node]:
    cursor.set_max_start_depth(DEEPEST_NODE)
    return cursor.captures(root).get("definition", [])


@cache
def _query(language: str) -> Query:
    from tree_sitter import Query

    return Query(grammar(language), definitions.query(language))


def problems_of(parsed: Parsed) -> list[SyntaxProblem] | None:
    """As `syntax_problems`, of a text already parsed; None where finding them takes too long here."""
    with parsed.spend() as until:
        return _read_problems(parsed.tree.root_node, until) if parsed.tree.root_node.has_error else []


def _read_problems(root: Node, until: float) -> list[SyntaxProblem] | None:
    found: list[SyntaxProblem] = []
    todo = [root]
    if until != inf and is_dear(root, until):
        return None
    while todo:
        if is_over(until):
            return None
        node = todo.pop()
        inner = [child for child in node.children if child.has_error or child.is_missing]
        if node.is_missing:
            found.append(SyntaxProblem(Span(node.start_point[0] + 1), f"Expected {node.type!r}"))
        elif node.is_error and not inner:
            # A long error begins where the parser last was at ease and ends where it gave up: the end is the place.
            token = (definitions.text(node).split() or [""])[-1][-40:]
            found.append(SyntaxProblem(Span(last_row(node) + 1), f"Unexpected token {token!r}"))
        todo.extend(inner)
    return sorted(found, key=lambda problem: problem.span)
