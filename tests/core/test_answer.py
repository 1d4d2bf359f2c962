"""One answer, three readers: what it does not say by itself has a plain default."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from postil.core.answer import Answer
from postil.core.content import Block, Link, Text
from postil.surfaces.shell.output import readable
from postil.wire.protocol.eras.era import FIRST, NEWEST
from postil.wire.protocol.shapes import make_blocks, make_plain, make_result


class Silent(Answer, frozen=True):
    count: int


class Speaking(Answer, frozen=True):
    count: int

    def for_model(self) -> str:
        return f"{self.count} of them"


class Polite(Answer, frozen=True):
    count: int

    @property
    def exit_status(self) -> int:
        return 3

    def for_model(self) -> Sequence[Block]:
        return [Text("for the model"), Link("a://b", "B")]

    def for_person(self) -> str:
        return "for you"

    def plain(self) -> object:
        return {"n": self.count}

    def metadata(self) -> dict[str, object]:
        return {"seen": True}


def test_an_answer_that_says_nothing_is_json_for_models_and_fields_for_people() -> None:
    assert make_blocks(Silent(2), NEWEST) == [Text('{"count":2}')]
    assert readable(Silent(2)) == "count: 2"
    assert make_plain(Silent(2)) == Silent(2)


def test_people_read_what_models_read_unless_the_answer_says_otherwise() -> None:
    assert (make_blocks(Speaking(2), NEWEST), readable(Speaking(2))) == ([Text("2 of them")], "2 of them")
    assert readable(Polite(2)) == "for you"


def test_each_surface_gets_its_own_form() -> None:
    assert make_plain(Polite(2)) == {"n": 2}
    shown = make_result(Polite(2), NEWEST, says_success=True, structured=True)
    assert shown["content"] == [Text("for the model"), Link("a://b", "B")]
    assert shown["_meta"]["postil/metadata"] == {"seen": True}
    assert "metadata" not in shown
    assert make_result(Polite(2), FIRST, says_success=True, contract=True)["metadata"] == {"seen": True}
    assert shown["structuredContent"] == Polite(2)
    assert make_result(Polite(2), FIRST, says_success=True)["content"] == [Text("for the model"), Text("B: a://b")]


def test_the_forms_are_no_fields() -> None:
    assert msgspec.to_builtins(Polite(2)) == {"count": 2}
    assert (Silent(1).exit_status, Polite(1).exit_status) == (0, 3)


def test_an_answer_is_taken_to_hold_the_words_of_others_unless_it_says_no() -> None:
    assert Silent(1).has_words
