"""The catalogue: what there is, without importing the parts that do it.

Generated from the parts' classes (`make docs`), kept true by a test, read at start-up: so listing tools or parsing a
command line costs nothing of the code behind them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from postil.core.arguments.described import describe_fields
from postil.core.arguments.schema import arguments_schema, result_schema, without
from postil.core.group import AnnouncerMark, CheckMark, GlanceMark
from postil.core.operation import Effect, Mark, description_of, is_async, marks_of, signature_types
from postil.core.prompt import PromptArgument, PromptMark, listed_arguments
from postil.core.resource import ResourceMark

_NONE = Raw()


class OperationEntry(Struct, frozen=True, omit_defaults=True):
    """One operation: what a client and the shell need to present it."""

    name: str
    part: str
    group: str
    attribute: str
    effect: Effect
    description: str
    input_schema: Raw
    """What clients are told. The shell may have more: `command_schema`."""
    output: Raw = field(default=_NONE, name="output_schema")
    shell_schema: Raw = _NONE
    contract_schema: Raw = _NONE
    title: str = ""
    shell: str = ""
    says: str = ""
    positional: tuple[str, ...] = ()
    flags: dict[str, str] = {}
    requires: tuple[str, ...] = ()
    writes_with: tuple[str, ...] = ()
    same_as: str = ""
    """The operation that this one says in other words."""
    settled: dict[str, Any] = {}
    """Arguments that the words of the command settle."""
    aliases: tuple[str, ...] = ()
    toolset: str = ""
    thing: str = ""
    """The argument that names what a call is about."""
    by_contract: bool = False
    """Whether the old contract's arguments are taken, and no others."""
    tool: bool = True
    direct: bool = False
    open_world: bool = False
    is_async: bool = False

    @property
    def output_schema(self) -> Raw | None:
        """The schema of the result, where one is published. (msgspec cannot decode `Raw | None`.)"""
        return self.output or None

    @property
    def command_schema(self) -> Raw:
        """The schema of the command's arguments, with those that only the shell has."""
        return self.shell_schema or self.input_schema

    @property
    def help(self) -> str:
        """What the shell says of the command."""
        return self.says or self.description

    def as_contract(self, name: str) -> OperationEntry:
        """Returns the entry as an old contract publishes it, under the contract's name for it."""
        schema = self.contract_schema or self.input_schema
        return msgspec.structs.replace(self, name=name, input_schema=schema, aliases=(), requires=(), by_contract=True)


class ResourceEntry(Struct, frozen=True, omit_defaults=True):
    """One resource or template."""

    uri: str
    name: str
    part: str
    group: str
    attribute: str
    description: str = ""
    mime_type: str = "text/plain"
    title: str = ""
    watch: str = ""


class PromptEntry(Struct, frozen=True, omit_defaults=True):
    """One prompt with its arguments."""

    name: str
    part: str
    group: str
    attribute: str
    description: str = ""
    arguments: list[PromptArgument] = []
    title: str = ""


class HookEntry(Struct, frozen=True):
    """A method that is found by its mark: a check of the doctor, an announcer, or a part's line of the status."""

    name: str
    part: str
    group: str
    attribute: str


class Catalogue(Struct, frozen=True):
    """Everything offered, in a fixed order."""

    operations: list[OperationEntry] = []
    resources: list[ResourceEntry] = []
    prompts: list[PromptEntry] = []
    checks: list[HookEntry] = []
    announcers: list[HookEntry] = []
    glances: list[HookEntry] = []

    def of_parts(self, parts: Container[str]) -> Catalogue:
        """Returns what these parts have of it."""
        lists = (getattr(self, field) for field in self.__struct_fields__)
        return Catalogue(*([entry for entry in entries if entry.part in parts] for entries in lists))


def describe(groups: Iterable[tuple[str, str, type]], *, outputs: bool = False) -> Catalogue:
    """Returns the catalogue of these groups, each given as its part, its name and its class.

    With `outputs` it has the schemas of the results: those operations then send structured content beside their text.
    """
    catalogue = Catalogue([], [], [], [], [], [])
    for part, group, owner in groups:
        for attribute, mark in marks_of(owner, Mark):
            catalogue.operations.extend(_operations(part, group, attribute, owner, mark, outputs))
        for attribute, mark in marks_of(owner, ResourceMark):
            about = description_of(getattr(owner, attribute))
            catalogue.resources.append(
                ResourceEntry(
                    mark.uri, mark.name, part, group, attribute, about, mark.mime_type, mark.title, mark.watch
                )
            )
        for attribute, mark in marks_of(owner, PromptMark):
            method = getattr(owner, attribute)
            catalogue.prompts.append(
                PromptEntry(
                    mark.name, part, group, attribute, description_of(method), listed_arguments(method), mark.title
                )
            )
        for attribute, mark in marks_of(owner, CheckMark):
            catalogue.checks.append(HookEntry(mark.name, part, group, attribute))
        for attribute, mark in marks_of(owner, AnnouncerMark):
            catalogue.announcers.append(HookEntry(mark.name, part, group, attribute))
        for attribute, _ in marks_of(owner, GlanceMark):
            catalogue.glances.append(HookEntry(part, part, group, attribute))
    return catalogue


def _operations(
    part: str, group: str, attribute: str, owner: type, mark: Mark, outputs: bool
) -> Iterator[OperationEntry]:
    """Yields the operation itself, and once more for every other command of it."""
    entry = _operation(part, group, attribute, owner, mark, outputs)
    yield entry
    arguments = describe_fields(arguments_schema(signature_types(getattr(owner, attribute))[0], closed=mark.closed))
    whole = without(arguments, mark.tool_only)
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
            shell_schema=_NONE,
            contract_schema=_NONE,
            positional=tuple(name for name in positional if name not in spelling.settles),
            flags=dict(mark.flags if spelling.flags is None else spelling.flags),
            settled=dict(spelling.settles),
            aliases=(),
            tool=False,
            direct=False,
        )


def _require(schema: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Returns a schema that asks for these arguments though the method has defaults for them."""
    if not names:
        return schema
    fields = schema["properties"]
    stripped = {name: {key: of for key, of in fields[name].items() if key != "default"} for name in names}
    properties = {name: stripped.get(name, field) for name, field in fields.items()}
    asked = {*schema.get("required", ()), *names}
    return {**schema, "properties": properties, "required": [name for name in properties if name in asked]}


def _operation(part: str, group: str, attribute: str, owner: type, mark: Mark, outputs: bool) -> OperationEntry:
    method = getattr(owner, attribute)
    arguments, result = signature_types(method)
    output = result_schema(result) if outputs and mark.tool else None
    whole = arguments_schema(arguments, closed=mark.closed)
    whole = describe_fields(whole)
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
        output=Raw(msgspec.json.encode(output)) if output else _NONE,
        shell_schema=Raw(msgspec.json.encode(command)) if command != published else _NONE,
        contract_schema=Raw(msgspec.json.encode(contract)) if contract else _NONE,
        aliases=mark.aliases,
        toolset=mark.toolset,
        thing=mark.thing,
        title=mark.title,
        shell=mark.shell,
        says=mark.says,
        requires=mark.requires,
        writes_with=mark.writes_with,
        positional=mark.positional,
        flags=dict(mark.flags),
        tool=mark.tool,
        direct=mark.direct,
        open_world=mark.open_world,
        is_async=is_async(method),
    )
