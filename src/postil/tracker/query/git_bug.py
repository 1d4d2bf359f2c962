"""git-bug's way of asking: `status:open label:"good first" -author:rene sort:edit-desc words of the text`."""

from __future__ import annotations

import re

from postil.tracker.query.tree import (
    ALIASES,
    FIELDS,
    All,
    Any,
    Node,
    Not,
    QueryFault,
    compare,
    is_nearly_field,
    suggest,
)

_TOKEN = re.compile(
    r"""\s*(?P<minus>-?)(?:(?P<key>[A-Za-z_-]+):)?(?P<op>>=|<=|>|<)?(?P<value>"(?:[^"\\]|\\.)*"|[^\s"]+)?"""
)
_KEY = re.compile(r"""(?:^|\s)-?[A-Za-z_-]+:(?=[^\s:])""")
_INFIX = re.compile(r"""[=~]|\s[<>]|\s(?:contains|in|and|or|not)\s""")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_INFIX_WORDS = {"contains", "in", "and", "or", "not"}
# In git-bug several of these mean "one of them"; labels and titles must all be there.
_ALTERNATIVES = ("status", "author", "kind", "id", "milestone")
_SETS = ("label", "labels", "assignee", "assignees")
_TEXTS = ("title", "text", "author")


def looks_like_keys(text: str) -> bool:
    """Returns whether the text has `key:value` pairs and nothing of the infix syntax outside of quotations."""
    bare = _QUOTED.sub('"', text)
    return _KEY.search(bare) is not None and _INFIX.search(bare.replace(":>=", ":").replace(":<=", ":")) is None


def looks_like_words(text: str) -> bool:
    """Returns whether the text is only words to search for: nothing of the infix syntax, no field's name."""
    words = _QUOTED.sub('"', text).split()
    plain = all(word == '"' or word.replace("-", "").replace("_", "").isalnum() for word in words)
    first = words[0].lower() if words else ""
    return plain and not is_nearly_field(first) and not {word.lower() for word in words} & _INFIX_WORDS


def parse_keys(text: str) -> tuple[Node, list[str]]:
    """Returns the tree of a key query, and the order it asks for."""
    conditions: list[Node] = []
    alternatives: dict[str, list[Node]] = {}
    sort: list[str] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.end() == at or not (match["key"] or match["value"]):
            raise QueryFault("unterminated string", at, "close the quotation")
        at = match.end()
        key, value = (match["key"] or "").lower(), _unquote(match["value"] or "")
        position = match.start("key") if match["key"] else match.start("value")
        value_at = match.start("value")
        if key and not match["value"]:
            raise QueryFault(f"a value must follow `{key}:`", match.end(), f"{key}:…")
        if key == "sort":
            sort.append(_read_order(value, value_at))
            continue
        node = _read_condition(key, match["op"], value, position, value_at)
        if match["minus"]:
            conditions.append(Not(node))
        elif key in _ALTERNATIVES:
            alternatives.setdefault(key, []).append(node)
        else:
            conditions.append(node)
    conditions += [nodes[0] if len(nodes) == 1 else Any(tuple(nodes)) for nodes in alternatives.values()]
    return (conditions[0] if len(conditions) == 1 else All(tuple(conditions))), sort


def _read_condition(key: str, op: str | None, value: str, position: int, value_at: int) -> Node:
    if not key:
        return compare("text", "~", [value], position, value_at)
    if key in ("no", "has"):
        return _read_presence(key, value, value_at)
    if key in ("participant", "actor", "metadata"):
        raise QueryFault(f"`{key}:` is not kept by this tracker", position, "author: asks who wrote the issue")
    if key not in FIELDS and key not in ALIASES:
        raise QueryFault(f"unknown field `{key}`", position, suggest(key, [*FIELDS, *ALIASES, "no", "has", "sort"]))
    default = "contains" if key in _SETS else "~" if key in _TEXTS else "="
    return compare(key, op or default, [value], position, value_at)


def _read_presence(key: str, value: str, position: int) -> Node:
    absent: dict[str, Node] = {
        "label": _match_empty("labels"),
        "labels": _match_empty("labels"),
        "assignee": _match_empty("assignee"),
        "milestone": compare("milestone", "=", ["none"], position),
        "comments": compare("has_comments", "=", ["false"], position),
    }
    if value.lower() not in absent:
        raise QueryFault(f"`{key}:{value}` is not known", position, suggest(value.lower(), absent))
    node = absent[value.lower()]
    return node if key == "no" else Not(node)


def _match_empty(field: str) -> Node:
    # A set equal to the empty name is the empty set: no label or assignee has an empty name.
    return compare(field, "=", [""], 0)


def _read_order(value: str, position: int) -> str:
    name, _, direction = value.partition("-")
    if direction not in ("", "asc", "desc"):
        raise QueryFault(f"unknown direction `{direction}`", position, "use -asc or -desc")
    return f"{name}:{direction or 'desc'}"


def _unquote(piece: str) -> str:
    if not piece.startswith('"'):
        return piece
    return re.sub(r"\\(.)", r"\1", piece[1:-1], flags=re.DOTALL)
