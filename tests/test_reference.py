"""The generated reference says how every command is called, and what each kind of answer holds."""

from __future__ import annotations

import msgspec

from postil.core.answer import Answer
from scripts.reference import REFERENCE, list_keys, plain_kinds


def test_every_command_is_shown_with_its_arguments() -> None:
    shown = REFERENCE.read_text("utf-8")
    assert [line for line in shown.splitlines() if line.endswith(" …")] == []
    assert "\npostil comments at REVISION [FILE] " in shown
    assert "\npostil comments confirm COMMENT-ID\n" in shown


def test_what_programs_get_is_told_and_not_what_a_person_reads() -> None:
    told = "Answers: `comments`, `total`, `damaged`, `outside`; or `revision`, `comments`, `later`, `damaged`, "
    assert f"{told}`laterTotal`, `laterWithoutCode`." in REFERENCE.read_text("utf-8")


class One(msgspec.Struct):
    name: str


class Several(Answer, frozen=True):
    hidden: str

    def plain(self) -> list[One]:
        return [One(self.hidden)]


def test_each_kind_of_a_result_has_its_keys() -> None:
    assert [list_keys(kind) for kind in plain_kinds(One | Several)] == ["`name`", "a list, each with `name`"]
    assert list_keys(str) == ""
