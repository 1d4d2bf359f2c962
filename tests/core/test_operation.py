"""An operation's signature is its schema, and its arguments are checked against it."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

import msgspec
import pytest

from postil.core.failure import InvalidArguments, UnknownOperation
from postil.core.operation import LONGEST_SENTENCE, Mark, Spelling, marks_of, writes
from postil.core.registry import Offer, Registry
from postil.core.resource import match
from tests.core.echo import Echo


def registry(**offer: object) -> Registry:
    return Registry.of([("echo", Echo())], msgspec.convert(offer, Offer))


def test_the_signature_becomes_the_schema_with_its_constraints() -> None:
    schema = msgspec.json.decode(registry().operations["echo"].input_schema)
    assert schema == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What to say", "maxLength": 5_000_000},
            "times": {"type": "integer", "minimum": 1, "maximum": 5, "default": 1},
            "mood": {"type": "string", "enum": ["loud", "soft"], "default": "soft"},
        },
        "required": ["text"],
    }


def test_the_output_schema_is_whole_where_it_is_declared() -> None:
    assert registry().operations["echo"].output_schema is None
    entry = Registry.of([("echo", Echo())], outputs=True).operations["echo"]
    assert entry.output_schema is not None
    assert msgspec.json.decode(entry.output_schema) == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
        "required": ["text", "times"],
    }


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"text": [1]}, "text"),
        ({}, "text"),
        ({"text": "a", "times": 9}, "times"),
        ({"text": "a", "mood": "odd"}, "mood"),
        ({"text": "a", "other": 1}, "other"),
    ],
)
def test_a_fault_in_the_arguments_names_its_path(arguments: object, path: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        registry().operation("echo").decode(arguments)
    assert caught.value.data["path"] == path
    assert caught.value.code == -32602


def test_good_arguments_are_decoded_with_their_defaults() -> None:
    assert registry().operation("echo").decode({"text": "a"}) == {"text": "a", "times": 1, "mood": "soft"}


@pytest.mark.parametrize(
    ("offer", "hidden", "shown"),
    [
        ({"read_only": True}, "count", "echo"),
        ({"deny": ("ec*",)}, "echo", "count"),
        ({"allow": ("echo",)}, "count", "echo"),
        ({"parts": ("other",)}, "echo", None),
    ],
)
def test_what_is_not_offered_can_be_neither_listed_nor_called(
    offer: dict[str, object], hidden: str, shown: str | None
) -> None:
    offered = registry(**offer)
    assert hidden not in [entry.name for entry in offered.tools]
    with pytest.raises(UnknownOperation):
        offered.operation(hidden)
    if shown:
        assert offered.operation(shown)


class Doors:
    @writes(
        "door.move",
        tool=False,
        shell="door move",
        positional=("way", "id"),
        spellings=(Spelling("shut", {"way": "shut"}, "Shut a door"), Spelling("door push")),
    )
    def move(self, way: Literal["open", "shut"], id: int) -> str:
        """Move a door"""
        return f"{way} {id}"


def test_other_words_for_an_operation_settle_arguments_and_no_longer_ask_for_them() -> None:
    offered = Registry.of([("doors", Doors())])
    other = offered.operations["shut"]
    assert (other.shell, other.same_as, other.positional) == ("shut", "door.move", ("id",))
    assert (other.settled, other.effect, other.tool) == ({"way": "shut"}, "writes", False)
    assert (other.description, offered.operations["door.push"].description) == ("Shut a door", "Move a door")
    assert list(msgspec.json.decode(other.input_schema)["properties"]) == ["id"]
    assert msgspec.json.decode(other.input_schema)["required"] == ["id"]
    assert offered.operation("shut").run(way="shut", id=1) == "shut 1"


def test_a_template_variable_stays_in_its_segment_unless_marked() -> None:
    assert match("a://{x}/b", "a://1/b") == {"x": "1"}
    assert match("a://{x}/b", "a://1/2/b") is None
    assert match("a://{+x}.c", "a://1/2%20.c") == {"x": "1/2 "}
    assert match("a://{x}", "a://" + "1" * 9000) is None


class Moves:
    """An operation whose arguments had other names."""

    @writes(
        "move",
        older={"file": "target"},
        requires=("target",),
        spellings=(Spelling("move home", settles={"target": "home"}, name="move_home"),),
    )
    def move(self, id: str, target: str = "") -> str:
        """Move it"""
        return f"{id} to {target}"


def test_arguments_are_taken_under_their_older_names_too() -> None:
    registry = Registry.of([("door", Moves())])
    move = registry.operation("move")
    assert move.decode({"id": "a", "file": "b"}) == {"id": "a", "target": "b"}
    assert move.decode({"id": "a", "target": "b"}) == {"id": "a", "target": "b"}
    assert move.decode({"id": "a", "file": "b"}, from_shell=True) == {"id": "a", "target": "b"}
    with pytest.raises(InvalidArguments, match="unknown field `file`"):
        move.decode({"id": "a", "file": "b", "target": "c"})  # which of the two is meant nobody can know
    assert registry.operations["move_home"].older == {}
    assert "file" not in str(registry.operations["move"].input_schema)


def test_an_argument_that_must_be_given_may_be_empty() -> None:
    move = Registry.of([("door", Moves())]).operation("move")
    assert move.decode({"id": "a", "target": ""}) == {"id": "a", "target": ""}
    with pytest.raises(InvalidArguments, match="missing required field `target`"):
        move.decode({"id": "a"})


def test_arguments_of_any_mapping_are_checked_alike() -> None:
    move = Registry.of([("door", Moves())]).operation("move")
    assert move.decode(MappingProxyType({"id": "a", "file": "b"})) == {"id": "a", "target": "b"}
    nothing: tuple[object, ...] = ([], "id", None, 5)
    for odd in nothing:
        with pytest.raises(InvalidArguments):
            move.decode(odd)


def test_an_endless_name_of_an_argument_is_told_in_short() -> None:
    """Looking for what was meant by 4 MB cost 157 MB."""
    operation = registry().operation("echo")
    with pytest.raises(InvalidArguments) as refused:
        operation.decode({"text": "a", "moo" * 1_000_000: 1})
    assert len(msgspec.json.encode([refused.value.message, refused.value.advice, refused.value.data])) < 5_000


@pytest.mark.parametrize("older", [False, True])
def test_a_long_text_for_a_choice_is_refused_in_a_short_sentence(*, older: bool) -> None:
    operation = registry().operation("echo")
    operation.older = {"tone": "mood"} if older else {}
    with pytest.raises(InvalidArguments) as caught:
        operation.decode({"text": "a" * 1000, "tone" if older else "mood": "x" * 900_000})
    assert caught.value.data["path"] == "mood"
    assert caught.value.message.startswith("Invalid arguments: Invalid enum value 'xxxx")
    assert len(caught.value.message) < 400
    assert "loud, soft" in caught.value.advice


@pytest.mark.parametrize("arguments", [{"text": "a", "x" * 900_000: 1}, {"text": "a", "times": ["y" * 900_000]}])
def test_no_sentence_about_arguments_is_longer_than_what_it_says(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidArguments) as caught:
        registry().operation("echo").decode(arguments)
    assert len(caught.value.message) < 1200


def test_a_sentence_that_just_fits_is_told_whole() -> None:
    operation = registry().operation("echo")
    for more in (0, 1):
        reason = "Expected something - " + "x" * (LONGEST_SENTENCE - len("Expected something - ") + more)
        assert ("…" in operation.fault(reason).message) is bool(more)


def test_the_choice_of_a_nested_value_is_named_in_short() -> None:
    class Moods:
        """Moods."""

        @writes("feel")
        def feel(self, moods: list[Literal["loud", "soft"]]) -> None:
            """Feel."""

    operation = Registry.of([("moods", Moods())]).operation("feel")
    with pytest.raises(InvalidArguments) as caught:
        operation.decode({"moods": ["soft", "x" * 900_000]})
    assert len(caught.value.message) < 1200
    assert caught.value.data["path"] == "moods[1]"


class Files:
    """One operation, which a newer group spells otherwise."""

    @writes("open_file")
    def open(self, filePath: str) -> None:
        """Open a file"""


class NewerFiles(Files):
    """The same, by another name."""

    @writes("open_any_file")
    def open(self, filePath: str) -> None:
        """Open any file"""


def test_a_method_that_is_written_anew_has_its_new_mark_alone() -> None:
    assert [(name, mark.name) for name, mark in marks_of(NewerFiles) if isinstance(mark, Mark)] == [
        ("open", "open_any_file")
    ]
    assert [name for name, _ in marks_of(Files)] == ["open"]


@pytest.mark.parametrize(("given", "meant"), [("pat", True), ("PATH", True), ("at", False)])
def test_three_letters_of_a_name_say_what_was_meant(given: str, meant: bool) -> None:
    with pytest.raises(InvalidArguments) as caught:
        Registry.of([("files", Files())]).operation("open_file").decode({"filePath": "a", given: "b"})
    assert (caught.value.advice == "Did you mean `filePath`?") is meant
