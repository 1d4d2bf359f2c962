"""Checks, announcers and lines of the status are found by their marks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from postil.core.group import Announcement, Finding, Tell, announcer, check, completer, glance
from postil.core.operation import reads
from postil.core.registry import Offer, Registry


class Roof:
    @check("tiles")
    def tiles(self) -> list[Finding]:
        return [Finding("ok", "all there"), Finding("warning", "one is loose", fix="postil roof --fix")]


def test_a_check_is_offered_under_its_name_and_runs_on_the_living_group() -> None:
    registry = Registry.of([("house", Roof())])
    (entry,) = registry.checks
    assert (entry.name, entry.part, entry.attribute) == ("tiles", "house", "tiles")
    assert [finding.fix for finding in registry.method(entry)()] == ["", "postil roof --fix"]


class Tower:
    """A bell that tells whoever listens."""

    def __init__(self) -> None:
        self.listeners: list[Tell] = []

    @announcer("bell")
    def listen(self, tell: Tell) -> Callable[[], None]:
        self.listeners.append(tell)
        return lambda: self.listeners.remove(tell)

    def strike(self, hour: int) -> None:
        for tell in self.listeners:
            tell(Announcement("info", f"{hour} o'clock", {"hour": hour}))


def test_who_listens_hears_every_part_until_they_stop() -> None:
    here, there = Tower(), Tower()
    heard: list[Announcement] = []
    stop = Registry.of([("here", here), ("there", there)]).announce(heard.append)
    here.strike(1)
    there.strike(2)
    stop()
    here.strike(3)
    assert heard == [Announcement("info", "1 o'clock", {"hour": 1}), Announcement("info", "2 o'clock", {"hour": 2})]


def test_a_view_that_shows_nothing_of_a_part_does_not_hear_it() -> None:
    tower = Tower()
    heard: list[Announcement] = []
    Registry.of([("here", tower)]).narrowed(lambda entry: True).announce(heard.append)
    tower.strike(1)
    assert heard == []


class Pond:
    @glance
    def line(self) -> str:
        return "3 fish"

    @reads("fish")
    def fish(self) -> str:
        """Name the fish"""
        return "carp"


def test_the_line_is_offered_under_the_part_s_name() -> None:
    registry = Registry.of([("pond", Pond())])
    (entry,) = registry.glances
    assert (entry.name, entry.part, registry.method(entry)()) == ("pond", "pond", "3 fish")


def test_a_part_that_is_turned_off_says_nothing() -> None:
    assert Registry.of([("pond", Pond())], Offer(parts=("other",))).glances == []


class Shelf:
    @completer("id", "more")
    def complete_id(self, typed: str, given: Mapping[str, object]) -> dict[str, str]:
        return {"b1": "a book"} if "b1".startswith(typed) else {}


def test_a_completer_is_offered_for_each_of_its_arguments() -> None:
    registry = Registry.of([("shelf", Shelf())])
    assert [(each.name, registry.method(each)("b", {})) for each in registry.completers] == [
        ("id", {"b1": "a book"}),
        ("more", {"b1": "a book"}),
    ]
