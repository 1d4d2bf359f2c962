"""What additions have to know of a sidecar: found without looking through it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.comments.model import Addition, NewComment, NewMarker
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import Items
from postil.comments.sidecar.ledger import Ledger, find_position

asked: list[int] = []


class Counted(int):
    """A line that counts how often it is compared."""

    def __hash__(self) -> int:
        return int.__hash__(self)

    def __eq__(self, other: object) -> bool:
        asked.append(self)
        return int.__eq__(self, other) is True

    def __le__(self, other: int) -> bool:
        asked.append(self)
        return int.__le__(self, other)

    def __lt__(self, other: int) -> bool:
        asked.append(self)
        return int.__lt__(self, other)


def test_the_markers_of_many_additions_are_not_looked_through() -> None:
    asked.clear()
    ledger = Ledger([], [])
    for n in range(1000):
        line = Counted(n * 7 % 1000)
        assert ledger.find((line, 0, "")) is None
        ledger.mark((line, 0, ""), f"gm_{n}", f"c_{n}")
        ledger.place(f"c_{n}", line)
    assert ledger.find((Counted(7), 0, "")) == ("gm_1", ["c_1"])
    assert len(asked) < 1000 * 40
    assert [each.marker for each in ledger.hung[:2]] == ["gm_0", "gm_143"]


def test_a_marker_on_which_many_comments_are_hung_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    replace = Items.replace

    def count(self: Items, index: int, item: object) -> int:
        written.append(index)
        return replace(self, index, item)  # pyright: ignore[reportArgumentType] # as it was given

    monkeypatch.setattr(Items, "replace", count)
    marker = {"id": "gm_0", "line": 2, "lineText": "x", "commentIds": ["c_0"]}
    held = {"id": "c_0", "text": "a", "line": 2, "ghostMarkerId": "gm_0"}
    sidecar = Sidecar("a.py", json.dumps({"comments": [held], "ghostMarkers": [marker]}).encode())
    new = [
        Addition(
            "",
            NewComment(id=f"c_{n}", line=2, text="a", author="", created="", updated="", startLine=2),
            NewMarker(
                id=f"gm_{n}", line=line, lineHash="", lineText="x", prevLineText="", nextLineText="", lastVerified=""
            ),
        )
        for n, line in enumerate([2, 1, 2, 1, 2], 1)
    ]
    assert sidecar.add_all(new) == ["gm_0", "gm_2", "gm_0", "gm_2", "gm_0"]
    assert written == [0, 1]
    kept = json.loads(sidecar.text())
    assert [each["commentIds"] for each in kept["ghostMarkers"]] == [["c_2", "c_4"], ["c_0", "c_1", "c_3", "c_5"]]
    assert [each["ghostMarkerId"] for each in kept["comments"]] == ["gm_2", "gm_2", "gm_0", "gm_0", "gm_0", "gm_0"]


def test_comments_that_stand_in_no_order_are_not_looked_through_either() -> None:
    """20,000 of them that came to 20,000 took 12 seconds."""
    asked.clear()
    ledger = Ledger([("a", Counted(2)), ("b", Counted(1)), *((f"c_{n}", Counted(300)) for n in range(1000))], [])
    for n in range(1000):
        ledger.place(f"n_{n}", Counted(1))
    assert len(asked) < 2000 * 40


@given(st.lists(st.integers(1, 9), max_size=20), st.lists(st.integers(1, 9), max_size=20))
def test_a_comment_stands_behind_the_last_that_is_not_greater(lines: list[int], new: list[int]) -> None:
    ledger, held = Ledger([(str(n), line) for n, line in enumerate(lines)], []), lines[:]
    for number, line in enumerate(new):
        at = find_position(held, line)
        assert ledger.place(f"n_{number}", line) == at
        held.insert(at, line)
