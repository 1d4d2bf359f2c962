"""What a registry offers under which name, on which surface, and when the groups behind it are made."""

from __future__ import annotations

from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct

from postil.core.answer import Answer
from postil.core.arguments.published import describe
from postil.core.catalogue import Catalogue
from postil.core.failure import InvalidArguments, NotFound, UnknownOperation
from postil.core.operation import Spelling, reads, writes
from postil.core.registry import Offer, Registry, ResourceNotFound
from tests.core.echo import Echo


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


def test_narrowing_keeps_the_older_names_of_what_is_kept() -> None:
    narrow = library().narrowed(lambda entry: True)
    assert narrow.operation("put_book").run(title="Emma") == Shelved("Emma", 1)


class Attic:
    """What assistants do not have."""

    @writes("sweep", shell="attic sweep", tool=False)
    def sweep(self) -> str:
        """Sweep"""
        return "clean"


@pytest.mark.parametrize("offer", [Offer(allow=("other",)), Offer(deny=("sweep",)), Offer(allow=("o*",), deny=("s*",))])
def test_lists_of_tools_do_not_speak_of_commands(offer: Offer) -> None:
    assert Registry.of([("house", Attic())], offer).operation("sweep").run() == "clean"


def test_lists_of_tools_do_not_open_what_is_read_only() -> None:
    assert Registry.of([("house", Attic())], Offer(read_only=True, allow=("sweep",))).find("sweep") is None


def test_a_resource_that_never_changes_can_be_watched_too() -> None:
    called: list[str] = []
    registry = Registry.of([("echo", Echo())])
    stop = registry.watch("echo://files/a", lambda: called.append("changed"))
    stop()
    assert called == []


def test_a_watched_resource_tells_of_its_changes_until_it_is_stopped() -> None:
    echo, called = Echo(), list[str]()
    stop = Registry.of([("echo", echo)]).watch("echo://note", lambda: called.append("changed"))
    echo.write("second")
    stop()
    echo.write("third")
    assert called == ["changed"]


def test_an_unknown_address_is_not_found() -> None:
    with pytest.raises(ResourceNotFound) as missing:
        Registry.of([("echo", Echo())]).resource("echo://nothing" + "x" * 2000)
    assert len(str(missing.value.data["uri"])) == 1000
    assert missing.value.code == -32002


def test_who_listens_to_lists_hears_of_changes_until_they_stop() -> None:
    registry, heard = library(), list[str]()
    stop = registry.on_list_changed(heard.append)
    registry.list_changed("tools")
    stop()
    registry.list_changed("prompts")
    assert heard == ["tools"]


def test_an_unknown_name_is_cut_in_what_is_said_of_it() -> None:
    with pytest.raises(UnknownOperation) as unknown:
        library().operation("x" * 200)
    assert unknown.value.data["name"] == "x" * 100
    with pytest.raises(NotFound):
        library().prompt("nothing")


class Lending:
    """Books lent, by commands that settle what the tool has to be told."""

    @writes(
        "lend",
        shell="book lend",
        says="Lend a book to a reader",
        positional=("title", "to"),
        requires=("to",),
        tool_only=("meta",),
        spellings=(Spelling("book return", {"to": ""}, name="take_back"),),
    )
    def lend(self, title: str, to: str = "", meta: str = "") -> str:
        """Lend an item of the collection"""
        return f"{title} to {to or 'the shelf'}"


def lending(offer: Offer | None = None) -> Registry:
    return Registry.of([("books", Lending())], offer)


def test_what_the_operation_requires_is_published_and_refused_when_it_lacks() -> None:
    entry = lending().operations["lend"]
    schema = msgspec.json.decode(entry.input_schema)
    assert schema["required"] == ["title", "to"]
    assert "default" not in schema["properties"]["to"]
    with pytest.raises(InvalidArguments) as refused:
        lending().operation("lend").decode({"title": "Emma"})
    assert refused.value.data["path"] == "to"


def test_a_command_that_settles_it_does_not_ask_and_has_a_name_of_its_own() -> None:
    entry = lending().operations["take_back"]
    assert properties(entry.command_schema) == ["title"]
    operation = lending().operation("take_back")
    assert operation.run(**operation.decode({"title": "Emma", **entry.settled})) == "Emma to the shelf"


def test_an_argument_of_tools_has_no_flag_and_the_command_its_own_sentence() -> None:
    entry = lending().operations["lend"]
    assert properties(entry.input_schema) == ["title", "to", "meta"]
    assert properties(entry.command_schema) == ["title", "to"]
    assert (entry.description, entry.help) == ("Lend an item of the collection", "Lend a book to a reader")


def test_denying_a_tool_hides_its_other_commands_too() -> None:
    assert lending(Offer(deny=("lend",))).operations == {}
    assert lending(Offer(allow=("other",))).operations == {}
    assert set(lending(Offer(allow=("lend",))).operations) == {"lend", "take_back"}


def test_a_pattern_allows_by_the_present_name_alone() -> None:
    assert library(Offer(allow=("put_*",))).find("shelve") is None
    assert library(Offer(allow=("shel*",))).find("shelve") is not None


def test_the_lists_of_tools_leave_a_persons_rarer_commands_alone() -> None:
    person = Offer(hidden=frozenset(), for_person=True, allow=("shelve",))
    assert library(person).find("dust") is not None
    assert library(Offer(hidden=frozenset(), allow=("shelve",))).find("dust") is None


class Dotted:
    """An operation whose older name had a dot in it."""

    @reads("book_find", aliases=("book.find", "look_up"), shell="book find")
    def find(self) -> str:
        """Find a book"""
        return "here"


@pytest.mark.parametrize("pattern", ["book.*", "book_*", "book.find", "look_up"])
def test_patterns_written_for_the_dotted_name_still_allow(pattern: str) -> None:
    assert Registry.of([("books", Dotted())], Offer(allow=(pattern,))).find("book.find") is not None


def test_patterns_of_older_names_widen_nothing() -> None:
    assert Registry.of([("books", Dotted())], Offer(allow=("look_*",))).find("book_find") is None


def test_a_command_knows_its_tool() -> None:
    registry = library()
    assert registry.tool_for("book shelve") == "shelve"
    assert registry.tool_for("book top") == "shelve"
    assert registry.tool_for("book burn") == ""


@pytest.mark.parametrize(("keeps", "lists"), [(True, True), (True, False), (False, True), (False, False)])
def test_what_is_shown_is_both_kept_and_listed(keeps: bool, lists: bool) -> None:
    narrow = Registry.of([("echo", Echo())]).narrowed(lambda entry: keeps, lambda entry: lists)
    shown = (narrow.tools, narrow.resources, narrow.templates, narrow.prompts)
    assert [bool(each) for each in shown] == [keeps and lists] * 4
    found = narrow.find("echo")
    assert (found is not None) is keeps, "what is not listed is a method all the same"
    assert found is None or narrow.is_tool(found) is lists


def test_a_command_is_no_tool_whatever_is_listed() -> None:
    whole = Registry.of([("house", Attic()), ("books", Catalogues())], Offer(hidden=frozenset()))
    for registry in (whole, whole.narrowed(lambda entry: True, lambda entry: getattr(entry, "toolset", "") != "extra")):
        assert not registry.is_tool(registry.operations["sweep"])
    assert whole.is_tool(whole.operations["dust"])


def test_what_is_not_listed_keeps_nothing_else_from_being_a_tool() -> None:
    whole = Registry.of([("books", Catalogues()), ("house", Shelves())], Offer(hidden=frozenset()))
    narrow = whole.narrowed(lambda entry: True, lambda entry: getattr(entry, "toolset", "") != "extra")
    assert [narrow.is_tool(narrow.operations[name]) for name in ("dust", "shelve")] == [False, True]


def test_a_group_is_ready_when_it_was_used() -> None:
    registry = library()
    entry = registry.operations["shelve"]
    made = Registry(Catalogue(operations=[entry]), lambda part, group: Shelves())
    assert not made.is_ready(entry)
    made.operation("shelve")
    assert made.is_ready(entry)


def test_what_was_called_before_cannot_be_called_where_it_is_not_kept() -> None:
    whole = Registry.of([("echo", Echo())])
    assert whole.operation("echo").mark.name == "echo"
    narrow = whole.narrowed(lambda entry: False)
    with pytest.raises(UnknownOperation):
        narrow.operation("echo")
    assert narrow.ready_operation("echo") is None
