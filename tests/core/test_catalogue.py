"""The catalogue: what a group of operations looks like from outside."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from postil.core.announcer import Tell, announcer
from postil.core.catalogue import Catalogue, describe
from postil.core.check import Finding, check
from postil.core.glance import glance
from postil.core.operation import Spelling, reads, writes
from postil.core.prompt import prompt
from postil.core.resource import resource


class Old(Struct, forbid_unknown_fields=True):
    """What an old contract publishes."""

    id: int


class Group:
    """One of everything."""

    @writes(
        "move",
        shell="thing move",
        positional=("id",),
        flags={"to": "t"},
        shell_only=("dry_run",),
        contract=Old,
        aliases=("old_move",),
        toolset="extra",
        spellings=(Spelling("thing up", {"to": "up"}, "Move it up", flags={}), Spelling("thing shift", positional=())),
    )
    def move(self, id: int, to: str = "down", dry_run: bool = False) -> str:
        """Move a thing

        With a reason that clients do not read.
        """
        return ""

    @reads("look")
    async def look(self) -> str:
        """Look"""
        return ""

    @resource("thing://{id}", name="thing", watch="watch")
    def read(self, id: str) -> str:
        """A thing"""
        return id

    @prompt("ask")
    def ask(self, topic: str = "all") -> str:
        """Ask about things"""
        return topic

    @check("things")
    def check(self) -> Finding:
        """Whether all is well"""
        return Finding("ok", "well")

    @announcer("things")
    def announce(self, tell: Tell) -> None:
        """Say what moved"""

    @glance
    def line(self) -> str:
        """One line"""
        return ""


def entries() -> Catalogue:
    return describe([("part", "group", Group)])


def test_everything_that_is_marked_is_described() -> None:
    found = entries()
    assert [entry.name for entry in found.operations] == ["move", "thing.up", "thing.shift", "look"]
    hooks = [*found.checks, *found.announcers, *found.glances]
    assert [(hook.name, hook.attribute) for hook in hooks] == [
        ("things", "check"),
        ("things", "announce"),
        ("part", "line"),
    ]
    assert [(entry.uri, entry.watch) for entry in found.resources] == [("thing://{id}", "watch")]
    assert [(entry.name, len(entry.arguments)) for entry in found.prompts] == [("ask", 1)]
    everything = (*found.operations, *found.resources, *found.prompts, *hooks)
    assert {(entry.part, entry.group) for entry in everything} == {("part", "group")}


def test_a_description_is_the_first_paragraph_alone() -> None:
    assert entries().operations[0].description == "Move a thing"


def test_the_shell_has_more_arguments_than_clients_are_told() -> None:
    move = entries().operations[0]
    assert set(msgspec.json.decode(move.input_schema)["properties"]) == {"id", "to"}
    assert set(msgspec.json.decode(move.command_schema)["properties"]) == {"id", "to", "dry_run"}


def test_other_words_settle_arguments_and_are_no_tools() -> None:
    _, up, shift, _ = entries().operations
    assert (up.shell, up.same_as, up.settled, up.description) == ("thing up", "move", {"to": "up"}, "Move it up")
    assert set(msgspec.json.decode(up.command_schema)["properties"]) == {"id", "dry_run"}
    assert (up.positional, up.flags, up.tool, up.aliases) == (("id",), {}, False, ())
    assert (shift.positional, shift.flags, shift.description) == ((), {"to": "t"}, "Move a thing")


def test_on_its_contract_an_operation_has_the_contracts_name_and_arguments() -> None:
    old = entries().operations[0].as_contract("old_move")
    assert (old.name, old.by_contract, old.aliases) == ("old_move", True, ())
    assert set(msgspec.json.decode(old.input_schema)["properties"]) == {"id"}
    look = entries().operations[-1]
    assert look.as_contract("look").input_schema == look.input_schema


def test_an_async_operation_is_known_without_importing_it() -> None:
    assert [entry.is_async for entry in entries().operations] == [False, False, False, True]


def test_a_catalogue_survives_its_file() -> None:
    found = entries()
    assert msgspec.json.decode(msgspec.json.encode(found), type=Catalogue) == found


def test_the_catalogue_of_some_parts_has_nothing_of_the_others() -> None:
    both = describe([("part", "group", Group), ("other", "group", Group)])
    assert both.of_parts(("part",)) == entries()
    assert both.of_parts(()) == Catalogue()
