"""The catalogue is what the groups say of themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from postil.core.arguments.published import describe
from postil.core.catalogue import Catalogue, HookEntry, OperationEntry
from postil.core.group import Finding, Tell, announcer, check, glance
from postil.core.operation import Spelling, destroys, reads, writes
from tests.core.echo import Echo


class Told(Struct, frozen=True):
    text: str


class OldArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What an old contract publishes."""

    name: str


class Garden:
    """A group with every kind of mark."""

    @reads("look", title="Look around", open_world=True, direct=True, tool=False)
    async def look(self) -> Told:
        """Look at the garden.

        Only the first paragraph is shown.
        """
        return Told("green")

    @writes(
        "plant",
        shell="garden plant",
        positional=("name", "where"),
        flags={"deep": "d"},
        spellings=(
            Spelling("garden sow", {"deep": False}, "Sow a seed", positional=("name",), flags={"where": "w"}),
            Spelling("plant here", {"where": "here"}),
        ),
        aliases=("put",),
        shell_only=("editor",),
        contract=OldArguments,
        toolset="green",
        closed=True,
    )
    def plant(self, name: Annotated[str, Meta(max_length=9)], where: str, deep: bool, editor: bool = False) -> Told:
        """Plant something"""
        return Told(name)

    @destroys("mow")
    def mow(self) -> str:
        """Mow the lawn"""
        return "short"

    @check("weeds")
    def weeds(self) -> Finding:
        return Finding("ok", "none")

    @announcer("bees")
    def bees(self, tell: Tell) -> Callable[[], None]:
        return lambda: None

    @glance
    def glance(self) -> str:
        return "green"


def described() -> Catalogue:
    return describe([("garden", "beds", Garden)])


def entry(name: str) -> OperationEntry:
    return next(entry for entry in described().operations if entry.name == name)


def arguments(schema: msgspec.Raw) -> list[str]:
    return list(msgspec.json.decode(schema)["properties"])


def test_operations_stand_in_the_order_they_are_written_each_followed_by_its_other_commands() -> None:
    assert [entry.name for entry in described().operations] == ["look", "plant", "garden.sow", "plant.here", "mow"]
    assert {(entry.part, entry.group) for entry in described().operations} == {("garden", "beds")}


def test_an_entry_says_what_the_mark_said() -> None:
    look, plant, mow = entry("look"), entry("plant"), entry("mow")
    assert (look.title, look.open_world, look.direct, look.tool, look.is_async) == (
        "Look around",
        True,
        True,
        False,
        True,
    )
    assert (look.description, look.output_schema, look.attribute) == ("Look at the garden.", None, "look")
    assert (plant.effect, plant.shell, plant.positional) == ("writes", "garden plant", ("name", "where"))
    assert (plant.flags, plant.aliases, plant.toolset) == ({"deep": "d", "editor": "e"}, ("put",), "green")
    assert (plant.is_async, plant.tool, plant.direct, plant.open_world) == (False, True, False, False)
    assert (mow.effect, mow.output_schema) == ("destroys", None)
    assert msgspec.json.decode(plant.input_schema)["additionalProperties"] is False


def test_the_shell_is_asked_for_arguments_that_clients_are_not_told_of() -> None:
    plant = entry("plant")
    assert arguments(plant.input_schema) == ["name", "where", "deep"]
    assert arguments(plant.command_schema) == ["name", "where", "deep", "editor"]
    assert arguments(entry("look").command_schema) == []


def test_other_words_settle_arguments_and_may_have_flags_of_their_own() -> None:
    sow, here = entry("garden.sow"), entry("plant.here")
    assert (sow.shell, sow.same_as, sow.description) == ("garden sow", "plant", "Sow a seed")
    assert (sow.positional, sow.flags, sow.settled) == (("name",), {"where": "w", "editor": "e"}, {"deep": False})
    assert (sow.tool, sow.direct, sow.aliases, sow.contract_schema) == (False, False, (), msgspec.Raw())
    assert arguments(sow.command_schema) == ["name", "where", "editor"]
    assert (here.description, here.positional) == ("Plant something", ("name",))
    assert here.flags == {"deep": "d", "editor": "e"}


def test_a_contract_publishes_its_own_arguments_under_its_own_name() -> None:
    old = entry("plant").as_contract("put")
    assert (old.name, old.by_contract, old.aliases, arguments(old.input_schema)) == ("put", True, (), ["name"])
    assert arguments(entry("mow").as_contract("mow").input_schema) == []


def test_hooks_are_found_by_their_marks() -> None:
    found = described()
    assert found.checks == [HookEntry("weeds", "garden", "beds", "weeds")]
    assert found.announcers == [HookEntry("bees", "garden", "beds", "bees")]
    assert found.glances == [HookEntry("garden", "garden", "beds", "glance")]


def test_resources_and_prompts_are_described_by_their_docstrings() -> None:
    found = describe([("echo", "all", Echo)])
    assert [(e.uri, e.name, e.description, e.mime_type, e.watch) for e in found.resources] == [
        ("echo://note", "Note", "The note", "text/plain", "watch_note"),
        ("echo://files/{+path}", "File", "A file that is its own name", "application/json", ""),
    ]
    (greet,) = found.prompts
    assert (greet.name, greet.description) == ("greet", "Greet someone")
    assert [(a.name, a.required, a.default) for a in greet.arguments] == [
        ("name", True, None),
        ("tone", False, "warm"),
        ("times", False, 1),
    ]


def test_the_catalogue_of_some_parts_holds_their_entries_of_every_kind_and_no_others() -> None:
    whole = describe([("garden", "beds", Garden), ("echo", "all", Echo)])
    assert whole.of_parts({"garden"}) == described()
    assert whole.of_parts({"echo"}) == describe([("echo", "all", Echo)])
    assert whole.of_parts(()) == Catalogue()


def test_a_catalogue_survives_being_written_and_read() -> None:
    written = msgspec.json.encode(described())
    assert msgspec.json.encode(msgspec.json.decode(written, type=Catalogue)) == written
