"""What a registry offers under which name, on which surface, and when the groups behind it are made."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct

from postil.core.answer import Answer
from postil.core.catalogue import Catalogue, describe
from postil.core.failure import InvalidArguments, UnknownOperation
from postil.core.operation import Spelling, reads, writes
from postil.core.registry import Offer, Registry


class Shelved(Answer, frozen=True):
    """A book on its shelf."""

    title: str
    shelf: int


class OldArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What the library's old contract publishes."""

    title: Annotated[str, Meta(description="The book")]
    shelf: int = 7


class Shelves:
    """Books, by one operation with every way to call it."""

    @writes(
        "shelve",
        shell="book shelve",
        positional=("title",),
        spellings=(Spelling("book top", {"shelf": 9}, "Put a book on the top shelf"),),
        aliases=("put_book",),
        shell_only=("editor",),
        contract=OldArguments,
    )
    def shelve(self, title: str, shelf: int = 1, gently: bool = False, editor: bool = False) -> Shelved:
        """Put a book on a shelf"""
        return Shelved(title, shelf)


class Catalogues:
    """What is rarely asked."""

    @reads("dust", shell="book dust", toolset="extra")
    def dust(self) -> str:
        """Say how dusty it is"""
        return "very"


def library(offer: Offer | None = None) -> Registry:
    return Registry.of([("books", Shelves()), ("books", Catalogues())], offer)


def properties(schema: msgspec.Raw) -> list[str]:
    return list(msgspec.json.decode(schema)["properties"])


def test_an_older_name_is_answered_and_not_listed() -> None:
    registry = library()
    assert [entry.name for entry in registry.tools] == ["shelve"]
    assert registry.operation("put_book").run(title="Emma") == Shelved("Emma", 1)
    found = registry.find("put_book")
    assert found is not None
    assert found.name == "shelve"


@pytest.mark.parametrize("name", ["shelve", "put_book", "put_*"])
def test_denying_any_of_its_names_hides_the_operation(name: str) -> None:
    registry = library(Offer(deny=(name,)))
    for hidden in ("shelve", "put_book"):
        with pytest.raises(UnknownOperation):
            registry.operation(hidden)


def test_allowing_an_older_name_offers_the_operation() -> None:
    assert library(Offer(allow=("put_book",))).find("shelve") is not None
    assert library(Offer(allow=("other",))).find("shelve") is None


def test_narrowing_takes_the_older_names_along() -> None:
    narrow = library().narrowed(lambda entry: False)
    assert narrow.find("put_book") is None


def test_an_argument_of_the_shell_is_published_to_the_shell_alone() -> None:
    entry = library().operations["shelve"]
    assert properties(entry.input_schema) == ["title", "shelf", "gently"]
    assert properties(entry.command_schema) == ["title", "shelf", "gently", "editor"]
    assert properties(library().operations["book.top"].command_schema) == ["title", "gently", "editor"]


def test_an_argument_of_the_shell_is_refused_from_other_surfaces() -> None:
    operation = library().operation("shelve")
    with pytest.raises(InvalidArguments) as refused:
        operation.decode({"title": "Emma", "editor": True})
    assert refused.value.data["path"] == "editor"
    assert "editor" not in refused.value.advice
    assert operation.decode({"title": "Emma", "editor": True}, from_shell=True)["editor"] is True


def test_a_contract_publishes_and_takes_its_own_arguments() -> None:
    whole = describe([("books", "shelves", Shelves)])
    cut = Catalogue([whole.operations[0].as_contract("put_book")])
    registry = Registry(cut, lambda part, group: Shelves())
    entry = registry.operations["put_book"]
    assert msgspec.json.decode(entry.input_schema)["properties"]["shelf"] == {"type": "integer", "default": 7}
    operation = registry.operation("put_book")
    assert operation.run(**operation.decode({"title": "Emma"})) == Shelved("Emma", 7)
    with pytest.raises(InvalidArguments):
        operation.decode({"title": "Emma", "gently": True})


def test_extra_tools_are_offered_only_on_request() -> None:
    assert library().find("dust") is None
    assert library(Offer(hidden=frozenset())).operation("dust").run() == "very"
    assert library(Offer(hidden=frozenset({"books/extra"}))).find("dust") is None


def test_a_group_is_made_when_one_of_its_operations_is_used() -> None:
    made: list[str] = []

    def make(part: str, group: str) -> object:
        made.append(group)
        return Shelves() if group == "shelves" else Catalogues()

    groups = [("books", "shelves", Shelves), ("books", "catalogues", Catalogues)]
    registry = Registry(describe(groups), make, Offer(hidden=frozenset()))
    assert made == []
    registry.operation("shelve")
    registry.operation("put_book")
    assert made == ["shelves"]


class Bell:
    """Another part."""

    @reads("ring", shell="bell ring")
    def ring(self) -> str:
        """Ring."""
        return "ding"


def test_what_a_part_has_that_is_turned_off_is_withheld() -> None:
    registry = Registry.of([("library", Shelves()), ("belfry", Bell())], Offer(parts=("belfry",)))
    assert set(registry.operations) == {"ring"}
    assert "shelve" in {entry.name for entry in registry.withheld}
    with pytest.raises(UnknownOperation):
        registry.operation("shelve")
