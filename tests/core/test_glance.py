"""A part's line of the status is found by its mark."""

from __future__ import annotations

from postil.core.glance import glance
from postil.core.operation import reads
from postil.core.registry import Offer, Registry


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
