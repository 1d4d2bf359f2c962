"""How each grammar spells a definition: the node types, and where its name, kind and first row are to be found."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

TYPES = frozenset({"class", "interface", "enum", "struct", "trait", "type", "record", "object", "protocol", "union"})

_C = "function_definition=function struct_specifier=struct union_specifier=union enum_specifier=enum"
_JS = (
    "function_declaration=function generator_function_declaration=function method_definition=method"
    " class_declaration=class variable_declarator=function"
)
_TS = (
    _JS + " abstract_class_declaration=class interface_declaration=interface type_alias_declaration=type"
    " enum_declaration=enum internal_module=namespace public_field_definition=method"
)
# language: node type = what people call it
_DEFINITIONS = {
    "python": "function_definition=function class_definition=class",
    "javascript": _JS + " field_definition=method",
    "typescript": _TS,
    "tsx": _TS,
    "go": "function_declaration=function method_declaration=method type_spec=type",
    "java": "class_declaration=class interface_declaration=interface enum_declaration=enum record_declaration=record"
    " annotation_type_declaration=interface method_declaration=method constructor_declaration=constructor",
    "rust": "function_item=function struct_item=struct enum_item=enum union_item=union trait_item=trait impl_item=type"
    " mod_item=module macro_definition=macro",
    "c": _C,
    "cpp": _C + " class_specifier=class namespace_definition=namespace",
    "csharp": "class_declaration=class struct_declaration=struct interface_declaration=interface"
    " record_declaration=record enum_declaration=enum method_declaration=method constructor_declaration=constructor"
    " property_declaration=property local_function_statement=function namespace_declaration=namespace",
    "ruby": "method=method singleton_method=method class=class module=module",
    "php": "function_definition=function method_declaration=method class_declaration=class"
    " interface_declaration=interface trait_declaration=trait enum_declaration=enum",
    "kotlin": "function_declaration=function class_declaration=class object_declaration=object",
    "swift": "function_declaration=function init_declaration=constructor class_declaration=class"
    " protocol_declaration=protocol",
    "scala": "function_definition=function class_definition=class object_definition=object trait_definition=trait",
    "bash": "function_definition=function",
    "sql": "create_table=table create_view=view create_function=function",
    "html": "element=element",
    "css": "rule_set=rule media_statement=rule",
    "yaml": "block_mapping_pair=key",
    "toml": "table=table pair=key",
    "json": "pair=key",
    "markdown": "section=section",
}
# Nodes that wrap a definition and begin above it: decorators, `export`, a Go type block.
_WRAPPERS = frozenset(
    {"decorated_definition", "export_statement", "type_declaration", "lexical_declaration", "template_declaration"}
)
_DECORATED = frozenset({"decorated_definition", "export_statement"})
_NAME_FIELDS = ("name", "declarator", "type", "key")
_VARIABLES = frozenset({"variable_declarator", "public_field_definition", "field_definition"})
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})
_LONGEST_NAME = 80
_LONGEST_TEXT = 4096


@cache
def kinds(language: str) -> dict[str, str]:
    return dict(each.split("=") for each in _DEFINITIONS[language].split())


def query(language: str) -> str:
    """Returns the query for every definition, in the words of tree-sitter."""
    return "[" + " ".join(f"({kind})" for kind in kinds(language)) + "] @definition"


def text(node: Node | None) -> str:
    # What is longer is no name: copying it for every level of a deep text would be quadratic.
    text = node.text if node and node.end_byte - node.start_byte <= _LONGEST_TEXT else None
    return " ".join(text.decode("utf-8", "replace").split())[:_LONGEST_NAME] if text else ""


def name(node: Node, language: str) -> str:
    type_ = node.type
    if type_ in _VARIABLES:
        value = node.child_by_field_name("value")
        if value is None or value.type not in _FUNCTION_VALUES:
            return ""
        return text(node.child_by_field_name("name") or node.child_by_field_name("property"))
    if type_ in _SPECIAL_NAMES:
        return _SPECIAL_NAMES[type_](node)
    if language in ("c", "cpp") and type_.endswith("_specifier") and node.child_by_field_name("body") is None:
        return ""
    for field in _NAME_FIELDS:
        child = node.child_by_field_name(field)
        while child is not None and child.type.endswith("declarator"):
            child = child.child_by_field_name("declarator") or _first(child, ("identifier", "field_identifier"))
        if child is not None:
            return text(child).strip("\"'")
    return text(_first(node, ("simple_identifier", "type_identifier", "identifier")))


def _first(node: Node, types: tuple[str, ...]) -> Node | None:
    return next((child for child in node.children if child.type in types), None)


def _element(node: Node) -> str:
    """An HTML element is known by its id; the others are too many to be landmarks."""
    tag = _first(node, ("start_tag", "self_closing_tag"))
    for attribute in tag.children if tag else []:
        if attribute.type == "attribute" and text(attribute).startswith("id="):
            return text(attribute)[3:].strip("\"'")
    return ""


def _section(node: Node) -> str:
    return text(_first(node, ("atx_heading", "setext_heading"))).strip("# =-")


def _rule(node: Node) -> str:
    if node.type == "rule_set":
        return text(node.children[0])
    before = (child for child in node.children if child.type != "block")
    return " ".join(filter(None, map(text, before))).partition("{")[0].strip()


def _created(node: Node) -> str:
    return text(_first(node, ("object_reference",)))


_SPECIAL_NAMES: dict[str, Callable[[Node], str]] = {
    "element": _element,
    "section": _section,
    "rule_set": _rule,
    "media_statement": _rule,
    "create_table": _created,
    "create_view": _created,
    "create_function": _created,
    "init_declaration": lambda node: "init",
    "table": lambda node: text(_first(node, ("bare_key", "dotted_key", "quoted_key"))),
    "pair": lambda node: text(node.children[0]).strip("\"'"),
}


def kind(node: Node, language: str, inside_type: bool) -> str:
    """What people call the definition."""
    found = kinds(language)[node.type]
    if node.type == "type_spec":
        of = node.child_by_field_name("type")
        return {"struct_type": "struct", "interface_type": "interface"}.get(of.type, "type") if of else "type"
    if language == "swift" and found == "class":
        return next((child.type for child in node.children if child.type in TYPES), "class")
    return "method" if found == "function" and inside_type else found


def receiver(node: Node) -> tuple[str, ...]:
    """The type a Go method belongs to, which stands before its name and not around it."""
    if node.type != "method_declaration":
        return ()
    receiver = node.child_by_field_name("receiver")
    words = text(receiver).strip("()").replace("*", " ").split()
    return (words[-1].partition("[")[0],) if words else ()


class Rows:
    """The rows of a tree's text, found by bytes: a node takes ten times as long to say its own."""

    def __init__(self, root: Node) -> None:
        text = root.text or b""
        self._lines = text.split(b"\n")
        self.may_be_decorated = b"@" in text
        self._starts = [*accumulate(map((1).__add__, map(len, self._lines)), initial=root.start_byte)]
        self._before = root.start_point[0] - 1

    def first(self, node: Node) -> int:
        return bisect_right(self._starts, node.start_byte) + self._before

    def last(self, node: Node) -> int:
        """The row a node ends on; the end of a line belongs to it."""
        return bisect_right(self._starts, max(node.end_byte - 1, node.start_byte)) + self._before

    def is_below_blank(self, row: int) -> bool:
        """Whether nothing stands on the row above."""
        place = row - self._before - 2
        return place >= 0 and not self._lines[place].strip()

    def head(self, node: Node) -> int:
        """The row of a definition's name, or of the definition where the name has no node of its own."""
        return self.first(node.child_by_field_name("name") or node)


class Siblings:
    """The nodes of one tree that stand before a node under the same parent, found in one pass a parent.

    A node's own `prev_sibling` walks over all before it: 64 kB of short comments above a function took 4 s.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[list[Node], dict[int, int]]] = {}

    def before(self, node: Node, parent: Node | None) -> Iterable[Node]:
        """Returns them, the nearest first."""
        if parent is None:
            return ()
        known = self._known.get(parent.id)
        if known is None:
            children = parent.children
            known = self._known[parent.id] = children, {child.id: index for index, child in enumerate(children)}
        children, places = known
        place = places.get(node.id, 0)
        return map(children.__getitem__, range(place - 1, -1, -1))


def first_row(node: Node, siblings: Siblings, rows: Rows) -> int:
    """The row a definition begins on, decorators and the comment directly above included.

    A comment at the end of a row of code belongs to that row.
    """
    while (parent := node.parent) is not None and parent.type in _WRAPPERS:
        node = parent
    row = comment = rows.first(node)
    if rows.is_below_blank(row):
        return row
    for before in siblings.before(node, parent):
        last, remark = rows.last(before), "comment" in before.type
        if last == comment < row:
            if not remark:
                return row
        else:
            row = comment  # nothing stands before the comment on its row
            if not remark or last != row - 1:
                return row
        comment = rows.first(before)
    return comment


def decorated_row(node: Node, siblings: Siblings, rows: Rows) -> int:
    """The row a definition begins on with its decorators, each of any number of rows, and without a comment above."""
    while (parent := node.parent) is not None and parent.type in _DECORATED:
        node = parent
    row = rows.first(node)
    if not rows.may_be_decorated:
        return row
    for before in siblings.before(node, parent):  # TypeScript's methods have theirs beside them
        if before.type == "decorator":
            row = rows.first(before)
        elif before.type != "comment":
            break
    return row


def last_row(node: Node) -> int:
    end = node.end_point
    return max(node.start_point[0], end[0] - (end[1] == 0))
