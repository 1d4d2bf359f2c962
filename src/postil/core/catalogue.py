"""The catalogue: what there is, without importing the parts that do it.

Generated from the parts' classes (`make docs`), kept true by a test, read at start-up: so listing tools or parsing a
command line costs nothing of the code behind them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from postil.core.group import AnnouncerMark, CheckMark, GlanceMark
from postil.core.operation import Effect, Mark, Spelling, description_of, is_async, marks_of, signature_types
from postil.core.prompt import PromptArgument, PromptMark, listed_arguments
from postil.core.resource import ResourceMark
from postil.core.schema import arguments_schema, result_schema, without

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
    positional: tuple[str, ...] = ()
    flags: dict[str, str] = {}
    same_as: str = ""
    """The operation that this one says in other words."""
    settled: dict[str, Any] = {}
    """Arguments that the words of the command settle."""
    aliases: tuple[str, ...] = ()
    toolset: str = ""
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

    def as_contract(self, name: str) -> OperationEntry:
        """Returns the entry as an old contract publishes it, under the contract's name for it."""
        schema = self.contract_schema or self.input_schema
        return msgspec.structs.replace(self, name=name, input_schema=schema, aliases=(), by_contract=True)


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


def describe(groups: Iterable[tuple[str, str, type]]) -> Catalogue:
    """Returns the catalogue of these groups, each given as its part, its name and its class."""
    catalogue = Catalogue([], [], [], [], [], [])
    for part, group, owner in groups:
        for attribute, mark in marks_of(owner, Mark):
            catalogue.operations.extend(_operations(part, group, attribute, owner, mark))
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


def _operations(part: str, group: str, attribute: str, owner: type, mark: Mark) -> Iterator[OperationEntry]:
    """Yields the operation itself, and once more for every other command of it."""
    entry = _operation(part, group, attribute, owner, mark)
    yield entry
    whole = msgspec.json.decode(entry.command_schema)
    for spelling in mark.spellings:
        positional = entry.positional if spelling.positional is None else spelling.positional
        yield msgspec.structs.replace(
            entry,
            name=spelling.words.replace(" ", "."),
            same_as=entry.name,
            description=spelling.says or entry.description,
            shell=spelling.words,
            input_schema=Raw(msgspec.json.encode(_spelled_schema(whole, spelling))),
            shell_schema=_NONE,
            contract_schema=_NONE,
            positional=tuple(name for name in positional if name not in spelling.settles),
            flags=dict(mark.flags if spelling.flags is None else spelling.flags),
            settled=dict(spelling.settles),
            aliases=(),
            tool=False,
            direct=False,
        )


def _spelled_schema(whole: dict[str, Any], spelling: Spelling) -> dict[str, Any]:
    """Returns what this command asks for: nothing that its words settle, and what it needs beyond the operation."""
    schema = without(whole, spelling.settles)
    for name in spelling.requires:
        schema["properties"][name] = {key: of for key, of in schema["properties"][name].items() if key != "default"}
        schema["required"] = [*schema.get("required", ()), name]
    return schema


def _operation(part: str, group: str, attribute: str, owner: type, mark: Mark) -> OperationEntry:
    method = getattr(owner, attribute)
    arguments, result = signature_types(method)
    output = result_schema(result, depth=mark.output_depth) if mark.output_depth else None
    whole = arguments_schema(arguments, closed=mark.closed)
    published = without(whole, mark.shell_only) if mark.shell_only else whole
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
        shell_schema=Raw(msgspec.json.encode(whole)) if mark.shell_only else _NONE,
        contract_schema=Raw(msgspec.json.encode(contract)) if contract else _NONE,
        aliases=mark.aliases,
        toolset=mark.toolset,
        title=mark.title,
        shell=mark.shell,
        positional=mark.positional,
        flags=dict(mark.flags),
        tool=mark.tool,
        direct=mark.direct,
        open_world=mark.open_world,
        is_async=is_async(method),
    )
