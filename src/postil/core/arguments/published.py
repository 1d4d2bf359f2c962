"""What is published of groups of operations: their catalogue, made from their marks and signatures.

Only who generates or tests asks for it: a server reads what was generated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from postil.core.arguments.described import describe_fields
from postil.core.arguments.schema import Schema, arguments_schema, result_schema, without, without_blank_defaults
from postil.core.arguments.short_flags import choose_letters
from postil.core.catalogue import NOTHING, Catalogue, HookEntry, OperationEntry, PromptEntry, ResourceEntry
from postil.core.group import AnnouncerMark, CheckMark, CompleterMark, GlanceMark
from postil.core.operation import Mark, description_of, is_async, marks_of, signature_types
from postil.core.prompt import PromptArgument, PromptMark
from postil.core.resource import ResourceMark


def describe(groups: Iterable[tuple[str, str, type]], *, outputs: bool = False) -> Catalogue:
    """Returns the catalogue of these groups, each given as its part, its name and its class.

    With `outputs` it has the schemas of the results: those operations then send structured content beside their text.
    """
    catalogue = Catalogue([], [], [], [], [], [], [])
    for part, group, owner in groups:
        for attribute, mark in marks_of(owner):
            if isinstance(mark, Mark):
                catalogue.operations.extend(_operations(part, group, attribute, owner, mark, outputs))
            elif isinstance(mark, ResourceMark):
                catalogue.resources.append(_resource(part, group, attribute, owner, mark))
            elif isinstance(mark, PromptMark):
                catalogue.prompts.append(_prompt(part, group, attribute, owner, mark))
            elif isinstance(mark, CheckMark):
                catalogue.checks.append(HookEntry(mark.name, part, group, attribute))
            elif isinstance(mark, AnnouncerMark):
                catalogue.announcers.append(HookEntry(mark.name, part, group, attribute))
            elif isinstance(mark, CompleterMark):
                catalogue.completers.extend(HookEntry(each, part, group, attribute) for each in mark.arguments)
            elif isinstance(mark, GlanceMark):
                catalogue.glances.append(HookEntry(part, part, group, attribute))
    return catalogue


def _resource(part: str, group: str, attribute: str, owner: type, mark: ResourceMark) -> ResourceEntry:
    about = description_of(getattr(owner, attribute))
    shown = mark.mime_type, mark.title, mark.watch, mark.paged
    return ResourceEntry(mark.uri, mark.name, part, group, attribute, about, *shown)


def _prompt(part: str, group: str, attribute: str, owner: type, mark: PromptMark) -> PromptEntry:
    method = getattr(owner, attribute)
    return PromptEntry(mark.name, part, group, attribute, description_of(method), list_arguments(method), mark.title)


def _operations(
    part: str, group: str, attribute: str, owner: type, mark: Mark, outputs: bool
) -> Iterator[OperationEntry]:
    """Yields the operation itself, and once more for every other command of it."""
    method = getattr(owner, attribute)
    arguments, result = signature_types(method)
    schema = describe_fields(arguments_schema(arguments, closed=mark.closed))
    output = result_schema(result) if outputs and mark.tool else None
    entry = _operation(part, group, attribute, method, mark, schema, output)
    yield entry
    whole = without(schema, mark.tool_only) if mark.spellings else schema
    for spelling in mark.spellings:
        positional = entry.positional if spelling.positional is None else spelling.positional
        yield msgspec.structs.replace(
            entry,
            name=spelling.name or spelling.words.replace(" ", "."),
            same_as=entry.name,
            description=spelling.says or entry.description,
            says="",
            requires=spelling.requires,
            shell=spelling.words,
            input_schema=Raw(msgspec.json.encode(_require(without(whole, spelling.settles), spelling.requires))),
            shell_schema=NOTHING,
            contract_schema=NOTHING,
            positional=tuple(name for name in positional if name not in spelling.settles),
            flags=_letters(
                without(whole, spelling.settles), mark.flags if spelling.flags is None else spelling.flags, positional
            ),
            settled=dict(spelling.settles),
            aliases=spelling.aliases,
            older={
                old: now
                for old, now in (mark.older if spelling.older is None else spelling.older).items()
                if now not in spelling.settles
            },
            tool=False,
            direct=False,
        )


def _letters(schema: dict[str, Any], marked: Mapping[str, str], positional: tuple[str, ...]) -> dict[str, str]:
    """Returns the short flags of a command: those of the mark, then those of the table."""
    return choose_letters((name for name in schema.get("properties", {}) if name not in positional), marked)


def _require(schema: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Returns a schema that asks for these arguments though the method has defaults for them."""
    if not names:
        return schema
    fields = schema["properties"]
    stripped = {name: {key: of for key, of in fields[name].items() if key != "default"} for name in names}
    properties = {name: stripped.get(name, field) for name, field in fields.items()}
    asked = {*schema.get("required", ()), *names}
    return {**schema, "properties": properties, "required": [name for name in properties if name in asked]}


def _operation(
    part: str, group: str, attribute: str, method: Callable[..., Any], mark: Mark, schema: Schema, output: Schema | None
) -> OperationEntry:
    """Returns the operation itself. `schema` has all of its arguments."""
    whole = without_blank_defaults(schema)
    published = _require(without(whole, mark.shell_only) if mark.shell_only else whole, mark.requires)
    command = _require(without(whole, mark.tool_only) if mark.tool_only else whole, mark.requires)
    contract = arguments_schema(mark.contract, closed=mark.closed) if mark.contract else None
    return OperationEntry(
        name=mark.name,
        part=part,
        group=group,
        attribute=attribute,
        effect=mark.effect,
        description=description_of(method),
        input_schema=Raw(msgspec.json.encode(published)),
        output=Raw(msgspec.json.encode(output)) if output else NOTHING,
        shell_schema=Raw(msgspec.json.encode(command)) if command != published else NOTHING,
        contract_schema=Raw(msgspec.json.encode(contract)) if contract else NOTHING,
        aliases=mark.aliases,
        older=dict(mark.older),
        toolset=mark.toolset,
        thing=mark.thing,
        title=mark.title,
        shell=mark.shell,
        says=mark.says,
        requires=mark.requires,
        writes_with=mark.writes_with,
        positional=mark.positional,
        flags=_letters(command, mark.flags, mark.positional) if mark.shell else {},
        tool=mark.tool,
        direct=mark.direct,
        open_world=mark.open_world,
        is_async=is_async(method),
        idempotent=mark.idempotent,
        waits=mark.waits,
        task=mark.task,
    )


def list_arguments(function: Callable[..., Any]) -> list[PromptArgument]:
    """Returns the arguments of a prompt's method, as `prompts/list` shows them."""
    schema = arguments_schema(signature_types(function)[0])
    required = set(schema.get("required", ()))
    return [
        PromptArgument(
            name=name,
            description=field.get("description", ""),
            required=name in required,
            default=field.get("default"),
            enum=field.get("enum"),
        )
        for name, field in schema["properties"].items()
    ]
