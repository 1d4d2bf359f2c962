"""A check is found by its mark and says what it saw."""

from __future__ import annotations

from postil.core.check import Finding, check
from postil.core.registry import Registry


class Roof:
    @check("tiles")
    def tiles(self) -> list[Finding]:
        return [Finding("ok", "all there"), Finding("warning", "one is loose", fix="postil roof --fix")]


def test_a_check_is_offered_under_its_name_and_runs_on_the_living_group() -> None:
    registry = Registry.of([("house", Roof())])
    (entry,) = registry.checks
    assert (entry.name, entry.part, entry.attribute) == ("tiles", "house", "tiles")
    assert [finding.fix for finding in registry.method(entry)()] == ["", "postil roof --fix"]
