"""Cyclomatic complexity of each function: one, and one more for every place where its flow can branch."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct

from postil.anchor.syntax.languages import Parsed, ask_worker, grammar, is_over, parse
from postil.anchor.syntax.queries import DEEPEST_NODE, run_query
from postil.anchor.syntax.symbols import LOOK_EVERY, Symbol, symbols

if TYPE_CHECKING:
    from tree_sitter import Node, Query, QueryCursor

# Node types that are a branch, over all grammars; their names are telling enough to share one list.
_BRANCHES = frozenset(
    """
    if_statement if_expression if elif_clause elsif unless if_modifier unless_modifier else_if_clause
    if_let_expression for_statement for_in_statement for_each_statement foreach_statement enhanced_for_statement
    for_range_loop for_expression for c_style_for_statement for_in_clause while_statement while_expression while
    until while_modifier until_modifier do_statement do_while_statement repeat_while_statement guard_statement
    case_clause switch_case expression_case type_case communication_case case_statement
    switch_block_statement_group switch_rule switch_section switch_expression_arm switch_entry when_entry when
    match_arm match_conditional_expression case_item in_clause catch_clause except_clause except_group_clause
    catch_block rescue rescue_modifier if_clause conditional_expression ternary_expression conditional if_guard
    """.split()  # noqa: SIM905 - eighty quoted lines would be no clearer
)
_SHORT_CIRCUITS = frozenset({"&&", "||", "and", "or", "??"})
_DEFAULTS = ([b"default"], [b"else"], [b"_"])


class Complexity(Struct, frozen=True):
    """A function and the number of independent ways through it."""

    function: Symbol
    cyclomatic: int


def complexities(text: str, language: str | None) -> list[Complexity]:
    """Every function of a text in order; what is inside a nested function counts for that one alone."""
    functions = [symbol for symbol in symbols(text, language) if symbol.is_function]
    if not functions or language is None:
        return []
    parsed = parse(text, language)
    found = _count_branches(parsed, text, language, functions) if parsed else None
    return found if found is not None else ask_worker("complexities", text, language, list[Complexity]) or []


def _count_branches(parsed: Parsed, text: str, language: str, functions: list[Symbol]) -> list[Complexity] | None:
    """Returns the complexities of functions; None where counting takes too long here."""
    query = _query(language)  # compiling it is no fault of the text
    with parsed.spend() as until:
        owners: dict[int, int] = {}
        for index, function in enumerate(functions):  # inner functions come later and take their rows over
            owners.update(dict.fromkeys(range(function.span.start - 1, function.span.last), index))
            if is_over(until):
                return None
        root = parsed.tree.root_node
        nodes = run_query(query, root, partial(_find_branches, root), until)
        if nodes is None:
            return None
        counts = [1] * len(functions)
        source = text.encode("utf-8", "surrogatepass")
        for number, node in enumerate(nodes):
            if number % LOOK_EVERY == 0 and is_over(until):
                return None
            owner = owners.get(node.start_point[0])
            if owner is not None and _is_branch(node, source):
                counts[owner] += 1
    return [Complexity(function, count) for function, count in zip(functions, counts, strict=True)]


@cache
def _query(language: str) -> Query:
    """Returns what finds the nodes that may be a branch, of those that a grammar has."""
    from tree_sitter import Query

    of = grammar(language)
    named = [f"({name})" for name in sorted(_BRANCHES) if of.id_for_node_kind(name, True)]
    marks = [f'"{mark}"' for mark in sorted(_SHORT_CIRCUITS) if of.id_for_node_kind(mark, False)]
    return Query(of, f"[{' '.join([*named, *marks])}] @branch" if named or marks else "(ERROR) @error")


def _find_branches(root: Node, cursor: QueryCursor) -> list[Node]:
    cursor.set_max_start_depth(DEEPEST_NODE)
    return cursor.captures(root).get("branch", [])


def _is_branch(node: Node, source: bytes) -> bool:
    if not node.is_named:
        return True
    # `default:`, `case _:` and `else ->` are where the flow goes when it does not branch.
    head = source[node.start_byte : min(node.end_byte, node.start_byte + 40)].replace(b":", b" ").split()[:2]
    return head[:1] not in _DEFAULTS and head != [b"case", b"_"]
