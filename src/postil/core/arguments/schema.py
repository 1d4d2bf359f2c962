"""JSON Schemas of operations, made from their types.

msgspec writes the schema, constraints included; this trims it to what a client needs: no titles, no `$defs`, no `null`
beside an argument that may simply be left out. Runs when the catalogue is generated, not at start-up.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import msgspec

Schema = dict[str, Any]


def arguments_schema(arguments: type, *, closed: bool = False) -> Schema:
    """Returns the input schema of an argument struct; `closed` also publishes that no other keys are taken."""
    schema = _inlined(arguments)
    schema.pop("description", None)  # a struct's docstring speaks to us, the operation's to clients
    return schema if closed else _open(schema)


def _open(schema: Schema) -> Schema:
    """Returns the schema without the word that no other keys are taken: it is so, and old contracts do not say it."""
    fields = {name: _open(field) for name, field in schema.get("properties", {}).items()}
    kept = {key: value for key, value in schema.items() if key != "additionalProperties" or value is not False}
    return {**kept, "properties": fields} if fields else kept


def without(schema: Schema, names: Collection[str]) -> Schema:
    """Returns an input schema that does not ask for these arguments."""
    fields = {name: field for name, field in schema.get("properties", {}).items() if name not in names}
    required = [name for name in schema.get("required", ()) if name not in names]
    return _plain({**schema, "properties": fields, "required": required})


def without_blank_defaults(schema: Schema) -> Schema:
    """Returns an input schema without defaults that say nothing: what may be left out is empty where it is."""
    fields = {
        name: {key: value for key, value in field.items() if key != "default" or not _is_blank(value)}
        for name, field in schema.get("properties", {}).items()
    }
    return {**schema, "properties": fields} if fields else schema


def _is_blank(default: object) -> bool:
    return default is False or default in ("", [], ())


def result_schema(result: object) -> Schema | None:
    """Returns the whole schema of a result struct, or None when it is not an object."""
    if not (isinstance(result, type) and issubclass(result, msgspec.Struct)):
        return None
    schema = _inlined(result)
    schema.pop("description", None)
    return schema if schema.get("type") == "object" else None


def _inlined(kind: type) -> Schema:
    (root,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    inlined = _trim(root, definitions, ())
    return cast(Schema, inlined)


def _trim(node: object, definitions: dict[str, Schema], inside: tuple[str, ...]) -> object:
    if isinstance(node, list):
        return [_trim(item, definitions, inside) for item in cast(list[object], node)]
    if not isinstance(node, dict):
        return node
    node = cast(Schema, node)
    if "$ref" in node:
        name = str(node["$ref"]).rsplit("/", 1)[-1]
        if name in inside:  # a recursive type: the outer level already says what it is
            return {"type": "object"}
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _trim({**definitions[name], **rest}, definitions, (*inside, name))
    trimmed: Schema = {}
    for key, value in node.items():
        if key == "title" and isinstance(value, str) and node.get("type") == "object":
            continue
        if key == "properties":
            fields = cast(Schema, value)
            listed = ((name, item) for name, item in fields.items() if "unlisted" not in item)  # taken, not published
            trimmed[key] = {name: _trim(item, definitions, inside) for name, item in listed}
        else:
            trimmed[key] = _trim(value, definitions, inside)
    return _plain(trimmed)


def _plain(node: Schema) -> Schema:
    if node.get("required") == []:
        del node["required"]
    values = node.get("enum")
    if isinstance(values, list) and "type" not in node and all(isinstance(v, str) for v in cast(list[object], values)):
        node["type"] = "string"
    options = cast("list[Schema] | None", node.get("anyOf"))
    if options and node.get("default", ...) is None and {"type": "null"} in options:
        others = [option for option in options if option != {"type": "null"}]
        del node["anyOf"], node["default"]
        node = {**others[0], **node} if len(others) == 1 else {"anyOf": others, **node}
    return node
