"""The catalogue: what there is, without importing the parts that do it.

Generated from the parts' classes (`make docs`), kept true by a test, read at start-up: so listing tools or parsing a
command line costs nothing of the code behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from postil.core.announcer import AnnouncerMark
from postil.core.check import CheckMark
from postil.core.operation import Effect, Mark, description_of, is_async, marks_of, signature_types
from postil.core.prompt import PromptArgument, PromptMark, listed_arguments
from postil.core.resource import ResourceMark
from postil.core.schema import arguments_schema, result_schema, without

_NONE = Raw()


class OperationEntry(Struct, frozen=True, omit_defaults=True):
    """One operation: what a client and the shell need to present it."""

    name: str
    part: str
    attribute: str
    effect: Effect
    description: str
    input_schema: Raw
    output: Raw = field(default=_NONE, name="output_schema")
    title: str = ""
    shell: str = ""
    positional: tuple[str, ...] = ()
    flags: dict[str, str] = {}
    same_as: str = ""
    """The operation that this one says in other words."""
    settled: dict[str, Any] = {}
    """Arguments that the words of the command settle."""
    tool: bool = True
    direct: bool = False
    open_world: bool = False
    is_async: bool = False

    @property
    def output_schema(self) -> Raw | None:
        """The schema of the result, where one is published. (msgspec cannot decode `Raw | None`.)"""
        return self.output or None


class ResourceEntry(Struct, frozen=True, omit_defaults=True):
    """One resource or template."""

    uri: str
    name: str
    part: str
    attribute: str
    description: str = ""
    mime_type: str = "text/plain"
    title: str = ""
    watch: str = ""


class PromptEntry(Struct, frozen=True, omit_defaults=True):
    """One prompt with its arguments."""

    name: str
    part: str
    attribute: str
    description: str = ""
    arguments: list[PromptArgument] = []
    title: str = ""


class HookEntry(Struct, frozen=True):
    """A method of a part that is found by its mark: a check of the doctor, or an announcer."""

    name: str
    part: str
    attribute: str


class Catalogue(Struct, frozen=True):
    """Everything offered, in a fixed order."""

    operations: list[OperationEntry] = []
    resources: list[ResourceEntry] = []
    prompts: list[PromptEntry] = []
    checks: list[HookEntry] = []
    announcers: list[HookEntry] = []


def describe(parts: Iterable[tuple[str, type]]) -> Catalogue:
    """The catalogue of these parts, from their classes."""
    catalogue = Catalogue([], [], [], [], [])
    for part, owner in parts:
        for attribute, mark in marks_of(owner, Mark):
            catalogue.operations.extend(_operations(part, attribute, owner, mark))
        for attribute, mark in marks_of(owner, ResourceMark):
            about = description_of(getattr(owner, attribute))
            catalogue.resources.append(
                ResourceEntry(mark.uri, mark.name, part, attribute, about, mark.mime_type, mark.title, mark.watch)
            )
        for attribute, mark in marks_of(owner, PromptMark):
            method = getattr(owner, attribute)
            catalogue.prompts.append(
                PromptEntry(mark.name, part, attribute, description_of(method), listed_arguments(method), mark.title)
            )
        for attribute, mark in marks_of(owner, CheckMark):
            catalogue.checks.append(HookEntry(mark.name, part, attribute))
        for attribute, mark in marks_of(owner, AnnouncerMark):
            catalogue.announcers.append(HookEntry(mark.name, part, attribute))
    return catalogue


def _operations(part: str, attribute: str, owner: type, mark: Mark) -> Iterator[OperationEntry]:
    """The operation itself, and once more for every other way to say it in the shell."""
    entry = _operation(part, attribute, owner, mark)
    yield entry
    for words, settled in mark.spellings.items():
        yield msgspec.structs.replace(
            entry,
            name=words.replace(" ", "."),
            same_as=entry.name,
            description=mark.says.get(words, entry.description),
            shell=words,
            input_schema=Raw(msgspec.json.encode(without(msgspec.json.decode(entry.input_schema), settled))),
            positional=tuple(name for name in entry.positional if name not in settled),
            settled=dict(settled),
            tool=False,
            direct=False,
        )


def _operation(part: str, attribute: str, owner: type, mark: Mark) -> OperationEntry:
    method = getattr(owner, attribute)
    arguments, result = signature_types(method)
    output = result_schema(result, depth=mark.output_depth) if mark.output_depth else None
    return OperationEntry(
        name=mark.name,
        part=part,
        attribute=attribute,
        effect=mark.effect,
        description=description_of(method),
        input_schema=Raw(msgspec.json.encode(arguments_schema(arguments, closed=mark.closed))),
        output=Raw(msgspec.json.encode(output)) if output else _NONE,
        title=mark.title,
        shell=mark.shell,
        positional=mark.positional,
        flags=dict(mark.flags),
        tool=mark.tool,
        direct=mark.direct,
        open_world=mark.open_world,
        is_async=is_async(method),
    )
