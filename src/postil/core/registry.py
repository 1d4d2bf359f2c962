"""The registry: the catalogue as one server offers it, and the groups of operations behind it, made on first use.

What is hidden here (another part, a write in read-only mode, a denied tool) exists on no surface.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from postil.core.catalogue import Catalogue, HookEntry, OperationEntry, PromptEntry, ResourceEntry
from postil.core.failure import NotFound, UnknownOperation
from postil.core.operation import Operation
from postil.core.prompt import Prompt
from postil.core.resource import ResourceNotFound, match, split_page

if TYPE_CHECKING:
    from postil.core.group import Tell

Listed: TypeAlias = Literal["tools", "resources", "prompts"]
Listable: TypeAlias = OperationEntry | ResourceEntry | PromptEntry


class Offer(Struct, frozen=True):
    """Which operations a server offers: the settings behind `--parts`, `--read-only`, `--allow-tool`, `--deny-tool`."""

    parts: tuple[str, ...] = ()
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset({"extra"})
    """Toolsets that are not offered: `extra` of any part, or one of a part's own as `part/toolset`."""
    unlisted: frozenset[str] = frozenset()
    """Toolsets that are called as methods and commands, and are no tools: as `part/toolset`."""
    for_person: bool = False
    """Whether a person at the shell asks: the lists speak of assistants' usual tools, and leave `extra` alone."""

    def includes_part(self, part: str) -> bool:
        """Returns whether anything of this part is offered."""
        return not self.parts or part in self.parts

    def select(self, entries: Iterable[OperationEntry]) -> list[OperationEntry]:
        """Returns the operations that are offered, of parts that are. Runs at every start: asks only what is set."""
        hidden = self.hidden
        chosen = [e for e in entries if not e.toolset or hidden.isdisjoint((e.toolset, f"{e.part}/{e.toolset}"))]
        if self.read_only:
            chosen = [entry for entry in chosen if entry.effect == "reads"]
        if self.allow or self.deny:  # the lists speak of tools, under all their names; other commands are none
            judged = (e for e in chosen if e.tool and not (self.for_person and e.toolset == "extra"))
            refused = {e.name for e in judged if not self._allows(e.name, e.aliases)}
            chosen = [entry for entry in chosen if refused.isdisjoint((entry.name, entry.same_as))]
        return chosen

    def _allows(self, name: str, aliases: tuple[str, ...]) -> bool:
        if _is_named((name, *aliases), self.deny):
            return False
        # A pattern allows by the present name alone, and its dotted form: an older one must not widen it.
        present = (name, *(alias for alias in aliases if alias.replace(".", "_") == name))
        return not self.allow or _is_named(present, self.allow) or any(alias in self.allow for alias in aliases)


def _is_named(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    if any(name in patterns for name in names):
        return True
    wild = [pattern for pattern in patterns if "*" in pattern or "?" in pattern or "[" in pattern]
    if not wild:
        return False
    from fnmatch import fnmatchcase  # only where patterns are set

    return any(fnmatchcase(name, pattern) for pattern in wild for name in names)


class Registry:
    """What one server offers, and how to reach it."""

    def __init__(
        self,
        catalogue: Catalogue,
        make: Callable[[str, str], object] | None = None,
        offer: Offer | None = None,
    ) -> None:
        """`make` returns the living group of a part and a name; without it nothing can be called."""
        offer = offer or Offer()
        everything = catalogue.operations
        if offer.parts:
            catalogue = catalogue.of_parts(offer.parts)
        self.operations: dict[str, OperationEntry] = {e.name: e for e in offer.select(catalogue.operations)}
        self.withheld: list[OperationEntry] = [e for e in everything if e.name not in self.operations]
        self._unlisted = offer.unlisted
        unlisted = self._unlisted
        self.tools: list[OperationEntry] = [
            e for e in self.operations.values() if e.tool and f"{e.part}/{e.toolset}" not in unlisted
        ]
        self._names = {alias: e.name for e in self.operations.values() for alias in e.aliases}
        self.resources: list[ResourceEntry] = [e for e in catalogue.resources if "{" not in e.uri]
        self.templates: list[ResourceEntry] = [e for e in catalogue.resources if "{" in e.uri]
        self.prompts: dict[str, PromptEntry] = {e.name: e for e in catalogue.prompts}
        self.checks, self.glances, self._announcers = catalogue.checks, catalogue.glances, catalogue.announcers
        self.completers = catalogue.completers
        self._make = make
        self._groups: dict[tuple[str, str], object] = {}
        self._bound: dict[str, Operation] = {}
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Listed], None]] = []

    @classmethod
    def of(cls, groups: Iterable[tuple[str, object]], offer: Offer | None = None, *, outputs: bool = False) -> Registry:
        """Returns a registry of living groups, described on the spot: for tests and small servers."""
        from postil.core.arguments.published import describe  # the real server reads what was generated

        living = {(part, type(group).__name__): group for part, group in groups}
        catalogue = describe(((part, name, type(group)) for (part, name), group in living.items()), outputs=outputs)
        registry = cls(catalogue, None, offer)
        registry._groups.update(living)
        return registry

    def narrowed(
        self, keeps: Callable[[Listable], bool], lists: Callable[[Listable], bool] = lambda entry: True
    ) -> Registry:
        """Returns the same living groups, of which only what is kept can be seen or called. List changes reach both.

        An operation that is kept and that `lists` leaves out, by its part and toolset, is a method and no tool.
        """
        import copy

        narrow = copy.copy(self)
        left_out = {f"{entry.part}/{entry.toolset}" for entry in self.operations.values() if not lists(entry)}
        narrow._unlisted = self._unlisted | left_out
        narrow.operations = {name: entry for name, entry in self.operations.items() if keeps(entry)}
        narrow._names = {alias: name for alias, name in self._names.items() if name in narrow.operations}
        narrow.tools = [entry for entry in self.tools if keeps(entry) and lists(entry)]
        narrow.resources = [entry for entry in self.resources if keeps(entry) and lists(entry)]
        narrow.templates = [entry for entry in self.templates if keeps(entry) and lists(entry)]
        narrow.prompts = {name: entry for name, entry in self.prompts.items() if keeps(entry) and lists(entry)}
        shown = {entry.part for entry in (*narrow.operations.values(), *narrow.resources)}
        narrow._announcers = [entry for entry in self._announcers if entry.part in shown]
        narrow._bound = {}
        return narrow

    def find(self, name: str) -> OperationEntry | None:
        """Returns the operation of this name, or of this older name."""
        return self.operations.get(name) or self.operations.get(self._names.get(name, ""))

    def tool_for(self, command: str) -> str:
        """Returns the tool that these words of the shell call; nothing where no tool does."""
        return next((e.name for e in self.tools if e.shell == command), "") or next(
            (e.same_as for e in self.operations.values() if e.shell == command and self._is_tool(e.same_as)), ""
        )

    def _is_tool(self, name: str) -> bool:
        return name in self.operations and self.operations[name].tool

    def is_tool(self, entry: OperationEntry) -> bool:
        """Returns whether assistants may call it: a tool, of a toolset that is listed."""
        return entry.tool and (not self._unlisted or f"{entry.part}/{entry.toolset}" not in self._unlisted)

    def operation(self, name: str) -> Operation:
        """Returns the operation of this name, ready to run. Raises UnknownOperation."""
        bound = self._bound.get(name)
        if bound is None:
            entry = self.find(name)
            if entry is None:
                raise UnknownOperation(f"Unknown operation: {name[:100]}", name=name[:100])
            bound = self._bound[name] = Operation(
                self.method(entry), by_contract=entry.by_contract, requires=entry.requires, older=entry.older
            )
        return bound

    def ready_operation(self, name: str) -> Operation | None:
        """Returns the operation of this name where it was made before: making it may import its part."""
        return self._bound.get(name)

    def is_ready(self, entry: Listable) -> bool:
        """Returns whether the group behind an entry is made already: making it imports its part."""
        return (entry.part, entry.group) in self._groups

    def method(self, entry: Listable | HookEntry) -> Callable[..., Any]:
        """Returns the living method behind an entry; its group is made on first use."""
        return getattr(self._group(entry.part, entry.group), entry.attribute)

    def _group(self, part: str, name: str) -> object:
        made = self._groups.get((part, name))
        if made is None:
            with self._lock:
                made = self._groups.get((part, name))
                if made is None:
                    assert self._make is not None, "this registry only lists"
                    made = self._groups[part, name] = self._make(part, name)
        return made

    def prompt(self, name: str) -> Prompt:
        """Returns the prompt of that name. Raises NotFound."""
        entry = self.prompts.get(name)
        if entry is None:
            raise NotFound(f"Unknown prompt: {name[:100]}", name=name[:100])
        return Prompt(self.method(entry))

    def resource(self, uri: str) -> tuple[ResourceEntry, dict[str, str]]:
        """Returns the entry that answers this address, and the variables found in it. Raises ResourceNotFound."""
        base, after = split_page(uri)
        page = {"after": after} if base != uri else {}
        for entry in self.resources:
            if entry.uri == base and (entry.paged or not page):
                return entry, page
        for entry in self.templates:
            found = match(entry.uri, base if entry.paged else uri)
            if found is not None:
                return entry, {**found, **page} if entry.paged else found
        raise ResourceNotFound("Resource not found", uri=uri[:1000])

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` whenever the resource may have changed. Returns a function that stops the watch.

        Blocks: use a thread.
        """
        entry, _ = self.resource(uri)
        if not entry.watch:
            return _nothing
        start: Callable[[str, Callable[[], None]], Callable[[], None]]
        start = getattr(self._group(entry.part, entry.group), entry.watch)
        return start(uri, changed)

    def announce(self, tell: Tell) -> Callable[[], None]:
        """Call `tell` with every announcement. Returns a function that stops that. Blocks: use a thread."""
        stops: list[Callable[[], None]] = [self.method(entry)(tell) for entry in self._announcers]

        def stop() -> None:
            for each in stops:
                each()

        return stop

    def on_list_changed(self, listener: Callable[[Listed], None]) -> Callable[[], None]:
        """Call `listener` when a list changes. Returns a function that stops that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def list_changed(self, what: Listed) -> None:
        """Tell every listener that a list changed."""
        for listener in list(self._listeners):
            listener(what)


def _nothing() -> None:
    return
