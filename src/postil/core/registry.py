"""The registry: the catalogue as one server offers it, and the living parts behind it, made on first use.

What is hidden here (another part, a write in read-only mode, a denied tool) exists on no surface.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from postil.core.announcer import Tell
from postil.core.catalogue import Catalogue, HookEntry, OperationEntry, PromptEntry, ResourceEntry, describe
from postil.core.failure import NotFound, UnknownOperation
from postil.core.operation import Operation
from postil.core.prompt import Prompt
from postil.core.resource import is_template, match

Listed: TypeAlias = Literal["tools", "resources", "prompts"]


class Offer(Struct, frozen=True):
    """Which operations a server offers: the settings behind `--parts`, `--read-only`, `--allow-tool`, `--deny-tool`."""

    parts: tuple[str, ...] = ()
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def includes_part(self, part: str) -> bool:
        """Whether anything of this part is offered."""
        return not self.parts or part in self.parts

    def includes(self, entry: OperationEntry) -> bool:
        """Whether this operation is offered."""
        if not self.includes_part(entry.part) or (self.read_only and entry.effect != "reads"):
            return False
        if not entry.tool or (not self.allow and not self.deny):
            return True  # the lists speak of tools; a command of the shell alone is none
        return not _named(entry.name, self.deny) and (not self.allow or _named(entry.name, self.allow))


def _named(name: str, patterns: tuple[str, ...]) -> bool:
    if name in patterns:
        return True
    wild = [pattern for pattern in patterns if "*" in pattern or "?" in pattern or "[" in pattern]
    if not wild:
        return False
    from fnmatch import fnmatchcase  # only where patterns are set

    return any(fnmatchcase(name, pattern) for pattern in wild)


class Registry:
    """What one server offers, and how to reach it."""

    def __init__(
        self, catalogue: Catalogue, parts: Mapping[str, Callable[[], object]], offer: Offer | None = None
    ) -> None:
        offer = offer or Offer()
        self.operations: dict[str, OperationEntry] = {e.name: e for e in catalogue.operations if offer.includes(e)}
        self.withheld: list[OperationEntry] = [e for e in catalogue.operations if e.name not in self.operations]
        self.tools: list[OperationEntry] = [e for e in self.operations.values() if e.tool]
        offered = [e for e in catalogue.resources if offer.includes_part(e.part)]
        self.resources: list[ResourceEntry] = [e for e in offered if not is_template(e.uri)]
        self.templates: list[ResourceEntry] = [e for e in offered if is_template(e.uri)]
        self.prompts: dict[str, PromptEntry] = {e.name: e for e in catalogue.prompts if offer.includes_part(e.part)}
        self.checks: list[HookEntry] = [e for e in catalogue.checks if offer.includes_part(e.part)]
        self._announcers = [e for e in catalogue.announcers if offer.includes_part(e.part)]
        self._factories = parts
        self._parts: dict[str, object] = {}
        self._bound: dict[str, Operation] = {}
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Listed], None]] = []

    @classmethod
    def of(cls, parts: Iterable[tuple[str, object]], offer: Offer | None = None) -> Registry:
        """A registry of living objects, described on the spot: for tests and small servers."""
        living = list(parts)
        catalogue = describe((name, type(part)) for name, part in living)
        return cls(catalogue, {name: (lambda part=part: part) for name, part in living}, offer)

    def narrowed(self, keeps: Callable[[OperationEntry | ResourceEntry | PromptEntry], bool]) -> Registry:
        """The same living parts, of which only what is kept can be seen or called. List changes reach both."""
        import copy

        narrow = copy.copy(self)
        narrow.operations = {name: entry for name, entry in self.operations.items() if keeps(entry)}
        narrow.tools = [entry for entry in self.tools if keeps(entry)]
        narrow.resources = [entry for entry in self.resources if keeps(entry)]
        narrow.templates = [entry for entry in self.templates if keeps(entry)]
        narrow.prompts = {name: entry for name, entry in self.prompts.items() if keeps(entry)}
        shown = {entry.part for entry in (*narrow.operations.values(), *narrow.resources)}
        narrow._announcers = [entry for entry in self._announcers if entry.part in shown]
        narrow._bound = {}
        return narrow

    def part(self, name: str) -> object:
        """The living part, made once."""
        with self._lock:
            if name not in self._parts:
                self._parts[name] = self._factories[name]()
            return self._parts[name]

    def operation(self, name: str) -> Operation:
        """The operation of that name, or UnknownOperation."""
        bound = self._bound.get(name)
        if bound is None:
            entry = self.operations.get(name)
            if entry is None:
                raise UnknownOperation(f"Unknown operation: {name[:100]}", name=name[:100])
            bound = self._bound[name] = Operation(getattr(self.part(entry.part), entry.attribute))
        return bound

    def prompt(self, name: str) -> Prompt:
        """The prompt of that name, or NotFound."""
        entry = self.prompts.get(name)
        if entry is None:
            raise NotFound(f"Unknown prompt: {name[:100]}", name=name[:100])
        return Prompt(getattr(self.part(entry.part), entry.attribute))

    def resource(self, uri: str) -> tuple[ResourceEntry, dict[str, str]]:
        """The entry that answers this address, and the variables found in it, or ResourceNotFound."""
        for entry in self.resources:
            if entry.uri == uri:
                return entry, {}
        for entry in self.templates:
            found = match(entry.uri, uri)
            if found is not None:
                return entry, found
        raise ResourceNotFound("Resource not found", uri=uri[:1000])

    def reader(self, entry: ResourceEntry) -> Callable[..., object]:
        """The method that reads this resource."""
        return getattr(self.part(entry.part), entry.attribute)

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` whenever the resource may have changed, until the answer is called. Blocks: use a thread."""
        entry, _ = self.resource(uri)
        if not entry.watch:
            return _nothing
        start: Callable[[str, Callable[[], None]], Callable[[], None]]
        start = getattr(self.part(entry.part), entry.watch)
        return start(uri, changed)

    def announce(self, tell: Tell) -> Callable[[], None]:
        """Call `tell` with whatever the parts announce, until the answer is called. Blocks: use a thread."""
        stops: list[Callable[[], None]] = []
        for entry in self._announcers:
            start: Callable[[Tell], Callable[[], None]] = getattr(self.part(entry.part), entry.attribute)
            stops.append(start(tell))

        def stop() -> None:
            for each in stops:
                each()

        return stop

    def on_list_changed(self, listener: Callable[[Listed], None]) -> Callable[[], None]:
        """Hear when a list changes, until the answer is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def list_changed(self, what: Listed) -> None:
        """Tell every listener that a list changed."""
        for listener in list(self._listeners):
            listener(what)


class ResourceNotFound(NotFound):
    """No resource has this address."""

    code = -32002


def _nothing() -> None:
    return
