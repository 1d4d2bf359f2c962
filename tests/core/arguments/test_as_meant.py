"""Arguments as models send them: what is plainly meant is taken, the rest is refused with what to do next."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from postil.core.arguments.as_meant import LONGEST_JSON, is_choice, read_as_meant, say_in_json, values_at
from postil.core.failure import InvalidArguments
from postil.core.operation import Operation, reads


class Colour(Enum):
    """An enumeration."""

    RED = "red"


class Where(Struct, frozen=True, forbid_unknown_fields=True):
    """A nested argument."""

    shelf: int
    room: Literal["hall", "attic"] | None = None


class Books:
    """One operation with arguments of every kind."""

    @reads("find", clears=("note",), shell_only=("secret_file",))
    def find(
        self,
        title: Annotated[str, Meta(min_length=1)],
        count: Annotated[int, Meta(ge=1)] = 1,
        weight: float = 1.0,
        lent: bool = False,
        mood: Literal["calm", "Wild"] = "calm",
        tags: tuple[str, ...] = (),
        pages: list[int] = [],  # noqa: B006 - msgspec copies it
        where: Where | None = None,
        project: int | str = 0,
        person: int | Literal["None", "Any"] | None = None,
        colour: Colour = Colour.RED,
        note: str | None = None,
        filePath: str = "all",
        extra: dict[str, int] = {},  # noqa: B006 - msgspec copies it
        secret_file: str = "",
        shelves: Annotated[tuple[Where, ...], Meta(description="Where to look")] = (),
        rooms: Annotated[dict[str, Literal["hall", "attic"]], Meta(description="Rooms by name")] = {},  # noqa: B006
        number: Annotated[int, Meta(description="As printed")] | Annotated[str, Meta(description="As said")] = 0,
        cover: Annotated[Literal["paper", "cloth"], Meta(description="How it is bound")] = "paper",
    ) -> str:
        """Find books"""
        return title


def decode(**arguments: Any) -> dict[str, Any]:
    return dict(Operation(Books().find).decode({"title": "Emma", **arguments}))


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"count": 5.0}, {"count": 5}),
        ({"count": "5"}, {"count": 5}),
        ({"count": "#5"}, {"count": 5}),
        ({"count": "5.0"}, {"count": 5}),
        ({"count": None}, {"count": 1}),
        ({"count": ""}, {"count": 1}),
        ({"weight": "2.5"}, {"weight": 2.5}),
        ({"lent": "true"}, {"lent": True}),
        ({"lent": "False"}, {"lent": False}),
        ({"lent": None}, {"lent": False}),
        ({"mood": "CALM"}, {"mood": "calm"}),
        ({"mood": "wild"}, {"mood": "Wild"}),
        ({"mood": ""}, {"mood": "calm"}),
        ({"mood": None}, {"mood": "calm"}),
        ({"tags": "novel"}, {"tags": ("novel",)}),
        ({"tags": '["novel", "old"]'}, {"tags": ("novel", "old")}),
        ({"tags": ""}, {"tags": ()}),
        ({"tags": None}, {"tags": ()}),
        ({"pages": ["3", 4.0]}, {"pages": [3, 4]}),
        ({"pages": 3}, None),
        ({"where": '{"shelf": "3"}'}, {"where": Where(3)}),
        ({"where": {"shelf": 3.0, "room": None}}, {"where": Where(3)}),
        ({"where": {"shelf": 3, "room": ""}}, {"where": Where(3)}),
        ({"where": {"shelf": 3, "room": "ATTIC"}}, {"where": Where(3, "attic")}),
        ({"project": "12"}, {"project": "12"}),
        ({"project": 12.0}, {"project": 12}),
        ({"person": "7"}, {"person": 7}),
        ({"person": "none"}, {"person": "None"}),
        ({"colour": "RED"}, {"colour": Colour.RED}),
        ({"note": ""}, {"note": ""}),
        ({"note": None}, {"note": None}),
        ({"file_path": "a.py"}, {"filePath": "a.py"}),
        ({"FilePath": "a.py"}, {"filePath": "a.py"}),
        ({"filePath": ""}, {"filePath": "all"}),
        ({"extra": {"a": "1"}}, {"extra": {"a": 1}}),
        ({"shelves": '[{"shelf": "3"}]'}, {"shelves": (Where(3),)}),
        ({"number": "12"}, {"number": "12"}),
        ({"number": 12.0}, {"number": 12}),
        ({"cover": "CLOTH"}, {"cover": "cloth"}),
    ],
)
def test_what_is_plainly_meant_is_taken(sent: dict[str, Any], read: dict[str, Any] | None) -> None:
    if read is None:
        with pytest.raises(InvalidArguments):
            decode(**sent)
        return
    decoded = decode(**sent)
    assert {name: decoded[name] for name in read} == read
    assert type(decoded["count"]) is int


@pytest.mark.parametrize(
    "sent",
    [
        {"count": 5.5},
        {"count": "five"},
        {"count": "0x5"},
        {"count": True},
        {"count": "9" * 40},
        {"count": 1e300},
        {"count": float(1 << 53)},  # from here on a float does not tell which number was meant
        {"count": "0"},
        {"lent": "perhaps"},
        {"lent": 1},
        {"mood": "angry"},
        {"mood": 5},
        {"mood": ["calm"]},
        {"tags": "an old novel, a new one"},
        {"title": None},
        {"title": ""},
        {"title": True},
        {"title": 1984},
        {"count": "5\n"},
        {"count": " 5"},
        {"title": ["Emma"]},
        {"where": "attic"},
        {"where": "{" * 5000},
        {"pages": f"[{'1,' * LONGEST_JSON}1]"},
        {"where": '{"shelf":3,"room":"hall"}'.ljust(LONGEST_JSON + 1)},
        {"where": {"shelf": 3, "room": "cellar"}},
        {"shelves": "attic"},
        {"shelves": "attic,hall"},
    ],
)
def test_what_is_not_plain_is_refused(sent: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments):
        decode(**sent)


def test_an_unknown_argument_is_named_with_the_nearest_known() -> None:
    with pytest.raises(InvalidArguments) as caught:
        decode(cuont=3)
    assert "`cuont`" in caught.value.message
    assert caught.value.advice == "Did you mean `count`?"


@pytest.mark.parametrize("name", ["zzz", "Object missing", "Expected `", "Invalid enum value"])
def test_an_unknown_argument_far_from_all_gets_the_list(name: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        decode(**{name: 3})
    assert "count" in caught.value.advice
    assert "secret_file" not in caught.value.advice


def test_what_only_the_shell_has_is_not_guessed() -> None:
    for name in ("secret_file", "secret-file", "SecretFile"):
        with pytest.raises(InvalidArguments):
            decode(**{name: "/etc/passwd"})


@pytest.mark.parametrize(
    ("sent", "values"),
    [
        ({"mood": "angry"}, "calm, Wild"),
        ({"where": {"shelf": 1, "room": "x"}}, "attic, hall"),
        ({"colour": "b"}, "red"),
        ({"shelves": [{"shelf": 1}, {"shelf": 2, "room": "x"}]}, "attic, hall"),
        ({"rooms": {"mine": "x"}}, "attic, hall"),
        ({"cover": "x"}, "cloth, paper"),
    ],
)
def test_a_wrong_choice_is_answered_with_the_choices(sent: dict[str, Any], values: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        decode(**sent)
    assert sorted(caught.value.advice.removeprefix("Use one of ").split(", ")) == sorted(values.split(", "))


def test_a_contracts_own_server_takes_nothing_but_what_the_contract_says() -> None:
    strict = Operation(Books().find, by_contract=True)
    for sent in ({"count": "5"}, {"count": 5.0}, {"count": None}, {"mood": "CALM"}, {"file_path": "a"}):
        with pytest.raises(InvalidArguments) as caught:
            strict.decode({"title": "Emma", **sent})
        assert "Use one of" not in caught.value.advice


def test_the_shell_gives_empty_text_on_purpose() -> None:
    assert Operation(Books().find).decode({"title": "Emma", "filePath": ""}, from_shell=True)["filePath"] == ""


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("a,b", ["a", "b"]),
        ("bug, priority::high", ["bug", "priority::high"]),
        ("bug", ["bug"]),
        ("src/a.py,src/b.py", ["src/a.py", "src/b.py"]),
    ],
)
def test_words_with_commas_between_them_are_several(sent: str, meant: list[str]) -> None:
    assert Operation(Books().find).decode({"title": "Emma", "tags": sent})["tags"] == tuple(meant)


@pytest.mark.parametrize("sent", ["one title, and another", "a,,b", ",a", "a,", "a, b c"])
def test_what_may_be_one_phrase_with_a_comma_is_not_plain(sent: str) -> None:
    with pytest.raises(InvalidArguments, match=r"Expected `array.*`, got `string` at tags"):
        Operation(Books().find).decode({"title": "Emma", "tags": sent})


def test_a_word_is_no_list_of_objects() -> None:
    for sent in ("attic", "attic,hall"):
        with pytest.raises(InvalidArguments, match=r"Expected `array`, got `string` at shelves"):
            decode(shelves=sent)


def test_types_are_named_in_words_of_json() -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"count": [1]}, "got `array` at count"),
        ({"title": {}}, "Expected `string`, got `object`"),
    ]
    for more, said in wrong:
        with pytest.raises(InvalidArguments, match=said):
            Operation(Books().find).decode({"title": "Emma", **more})


def test_no_path_and_no_choice_give_no_values() -> None:
    arguments = Operation(Books().find).arguments
    assert values_at(arguments, "title") == []
    assert values_at(arguments, "nowhere[0].at") == []


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["title", "count", "tags", "where", "project", "extra", "x"]), ANYTHING))
def test_whatever_is_sent_is_read_or_refused_and_never_a_bug(sent: dict[str, Any]) -> None:
    operation = Operation(Books().find)
    try:
        decoded = operation.decode(sent)
    except InvalidArguments:
        return
    assert isinstance(decoded["title"], str)


@given(st.integers(1, 10**6), st.text(min_size=1), st.lists(st.text()))
def test_what_fits_is_never_changed(count: int, title: str, tags: list[str]) -> None:
    sent: dict[str, object] = {"title": title, "count": count, "tags": tags, "project": title}
    assert read_as_meant(sent, Operation(Books().find).arguments) == sent


def test_a_value_of_the_wrong_type_is_told_what_it_should_be() -> None:
    class Notes:
        """An operation."""

        @reads("note")
        def note(
            self,
            kind: Literal["long", "short"],
            lines: Annotated[tuple[str, ...], Meta(description="FILE:LINE: text")] = (),
            bare: tuple[str, ...] = (),
        ) -> str:
            """Take notes"""
            return kind

    decode = Operation(Notes().note).decode
    for sent, advice in (
        ({"kind": "long", "lines": [{"file": "a"}]}, "lines: FILE:LINE: text"),
        ({"kind": "long", "bare": [{"file": "a"}]}, ""),
        ({}, "Use one of long, short"),
    ):
        with pytest.raises(InvalidArguments) as refused:
            decode(sent)
        assert refused.value.advice == advice


class Described(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments that say what they mean."""

    tone: Annotated[Literal["loud", "soft"], Meta(description="how")] = "soft"
    words: Annotated[Literal[0] | str, Meta(description="which")] = 0
    mark: Annotated[str, Meta(description="of a person")] | int = 0


def test_a_choice_that_is_described_is_a_choice_and_one_that_takes_any_text_is_none() -> None:
    assert [is_choice(Described, name) for name in ("tone", "words", "mark", "missing")] == [True, False, False, False]


def test_what_fits_a_described_text_stays_a_text() -> None:
    assert read_as_meant({"mark": "5"}, Described) == {"mark": "5"}


def test_what_is_empty_is_said_in_plain_words() -> None:
    assert say_in_json("Expected `str` of length >= 1") == "Expected `string` that is not empty"
    assert say_in_json("Expected `array` of length >= 12") == "Expected `array` of length >= 12"
