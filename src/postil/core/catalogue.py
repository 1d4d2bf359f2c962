"""The catalogue: what there is, without importing the parts that do it.

Generated from the parts' classes (`make docs`), kept true by a test, read at start-up: so listing tools or parsing a
command line costs nothing of the code behind them.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from msgspec import Raw, Struct, field, structs

from postil.core.operation import Effect, TaskSupport
from postil.core.prompt import PromptArgument

NOTHING = Raw()


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
    output: Raw = field(default=NOTHING, name="output_schema")
    shell_schema: Raw = NOTHING
    contract_schema: Raw = NOTHING
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
    older: dict[str, str] = {}
    """Older names of arguments, and what they are called now."""
    toolset: str = ""
    thing: str = ""
    """The argument that names what a call is about."""
    by_contract: bool = False
    """Whether the old contract's arguments are taken, and no others."""
    tool: bool = True
    direct: bool = False
    open_world: bool = False
    is_async: bool = False
    idempotent: bool = False
    waits: bool = False
    task: TaskSupport = ""

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
        bare = structs.replace(self, aliases=(), older={}, requires=())
        return structs.replace(bare, name=name, input_schema=schema, by_contract=True)


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
    paged: bool = False


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
    """A method that is found by its mark: a check of the doctor, an announcer, a completer, a line of the status."""

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
    completers: list[HookEntry] = []

    def of_parts(self, parts: Container[str]) -> Catalogue:
        """Returns what these parts have of it."""
        lists = (getattr(self, field) for field in self.__struct_fields__)
        return Catalogue(*([entry for entry in entries if entry.part in parts] for entries in lists))
