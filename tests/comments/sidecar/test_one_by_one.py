"""Large sidecars are read one comment at a time, and mean the same as small ones, to the byte."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.comments.model import Addition, NewComment, NewMarker
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import LARGE, LineTexts, Sidecar
from postil.comments.sidecar.json_edit import SLICE
from postil.comments.sidecar.merge import merge_sidecars
from postil.core import limits

MOMENT = "2026-01-01T00:00:00.000Z"
LONG, SHORT = b'"x-long": "' + b"l" * LARGE + b'"', b'"x-long": "l"'
LINES = [f"line {number}" for number in range(1, 9)]


def make_comment(number: int, line: int, marker: int, kind: int) -> dict[str, Any]:
    """A comment of the extension's, the reference server's or the playground's shape."""
    name, words = f"c_{number}", ["é\U0001f600", "plain", 'quoted "[{,]}" \\ text'][number % 3]
    if kind == 0:
        return {"id": name, "line": line, "text": words, "author": "ann", "created": MOMENT, "updated": MOMENT,
                "ghostMarkerId": f"gm_{marker}", "x-more": [1.50, None]}  # fmt: skip
    return {"id": name, "text": words, "author": "ann", "created": MOMENT} if kind == 1 else {
        "id": name, "text": words, "timestamp": MOMENT}  # fmt: skip


def make_marker(number: int, line: int, held: list[str], kind: int) -> dict[str, Any]:
    if kind:
        return {"id": f"gm_{number}", "line": line, "commentId": held[0] if held else "c_0", "anchor": "f"}
    texts = LineTexts.at(LINES, line)._asdict()
    return {"id": f"gm_{number}", "line": line, "commentIds": held, **texts, "lastVerified": MOMENT}


@st.composite
def files(draw: st.DrawFn) -> bytes:
    kinds = st.sampled_from([0, 0, 0, 1, 2])
    numbers = draw(st.lists(st.integers(1, 5), max_size=5))
    comments = [make_comment(n, draw(st.integers(1, 8)), draw(st.integers(1, 4)), draw(kinds)) for n in numbers]
    markers = [
        make_marker(n, draw(st.integers(1, 8)), draw(st.lists(st.sampled_from(["c_1", "c_2", "c_3"]), max_size=2)), k)
        for n, k in draw(st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0, 0, 1])), max_size=4, unique=True))
    ]
    value: dict[str, Any] = {"file": "a.py", "version": "2.1.0", "ghostMarkers": markers, "comments": comments}
    for key in draw(st.sets(st.sampled_from(["file", "version", "ghostMarkers"]), max_size=1)):
        del value[key]
    value = dict(draw(st.permutations([*value.items()])))
    text = json.dumps(value, indent=draw(st.sampled_from([None, 2, 3])), ensure_ascii=draw(st.booleans())).encode()
    return text[:1] + SHORT + b"," + text[1:]


def enlarge(text: bytes) -> bytes:
    return text.replace(SHORT, LONG, 1)


Change = Callable[[Sidecar], object]


def add(number: int, line: int) -> Change:
    comment = NewComment(
        id=f"c_9{number}", line=line, text="new", author="bob", created=MOMENT, updated=MOMENT, startLine=line
    )
    marker = NewMarker(id=f"gm_9{number}", line=line, lastVerified=MOMENT, **LineTexts.at(LINES, line)._asdict())
    return lambda sidecar: sidecar.add_all([Addition("", comment, marker)])


def edit(place: int, values: dict[str, object], drop: tuple[str, ...]) -> Change:
    def change(sidecar: Sidecar) -> None:
        if sidecar.comments:
            sidecar.change(sidecar.comments[place % len(sidecar.comments)].id, values, drop)

    return change


def take_out(place: int) -> Change:
    def change(sidecar: Sidecar) -> None:
        if sidecar.comments:
            sidecar.remove(sidecar.comments[place % len(sidecar.comments)].id)

    return change


def hang(place: int, line: int) -> Change:
    def change(sidecar: Sidecar) -> None:
        if sidecar.comments:
            found = sidecar.comments[place % len(sidecar.comments)]
            sidecar.hang(found.id, found.markerId, make_marker(8, line, [], 0))

    return change


def put_under(number: int, line: int) -> Change:
    raw = make_comment(70 + number, line, 3, 0)
    return lambda sidecar: sidecar.add(raw, make_marker(number, line, [raw["id"]], 0))


def move_marker(place: int, line: int) -> Change:
    def change(sidecar: Sidecar) -> None:
        if sidecar.markers:
            values: dict[str, object] = {"line": line, "endLine": None, "prevLineText": "p"}
            sidecar.change_marker(sidecar.markers[place % len(sidecar.markers)].id, values)

    return change


def finish(sidecar: Sidecar) -> None:
    numbers = itertools.count()
    sidecar.finish(lambda line: LineTexts.at(LINES, line), MOMENT, lambda prefix: f"{prefix}n{next(numbers)}")


PLACES, ROWS = st.integers(0, 5), st.integers(1, 8)
CHANGES = st.one_of(
    st.builds(add, PLACES, ROWS),
    st.builds(edit, PLACES, st.sampled_from([{"text": "other"}, {"x-new": {"a": 1}}]), st.sampled_from([(), ("tag",)])),
    st.builds(take_out, PLACES),
    st.builds(hang, PLACES, ROWS),
    st.builds(put_under, PLACES, ROWS),
    st.builds(move_marker, PLACES, ROWS),
    st.just(finish),
    st.just(Sidecar.name_source),
)


def test_large_is_what_a_worker_reads() -> None:
    assert LARGE == limits.COMMENTS_HERE


@settings(max_examples=150, deadline=None)
@given(text=files(), changes=st.lists(CHANGES, max_size=4))
def test_whatever_is_done_to_a_large_sidecar_writes_what_it_writes_into_a_small_one(
    text: bytes, changes: list[Change]
) -> None:
    small, large = Sidecar("a.py", text), Sidecar("a.py", enlarge(text))
    for change in changes:
        assert [*large.comments] == [*small.comments]
        assert [*large.markers] == [*small.markers]
        assert (large.version, large.writable) == (small.version, small.writable)
        change(small)
        change(large)
        assert large.text() == enlarge(small.text())
    assert [*large.comments] == [*small.comments]
    assert len(large.steps) == len(small.steps)
    assert b"".join(large.pieces()) == large.text()
    again = Sidecar("a.py", large.text())
    assert again.complete == large.complete == Sidecar("a.py", small.text()).complete


@settings(max_examples=50, deadline=None)
@given(base=files(), changes=st.lists(CHANGES, max_size=2), others=st.lists(CHANGES, max_size=2))
def test_large_sidecars_are_merged_as_small_ones(base: bytes, changes: list[Change], others: list[Change]) -> None:
    def write(text: bytes, some: list[Change]) -> bytes:
        sidecar = Sidecar("a.py", text)
        for change in (finish, *some):
            change(sidecar)
        return sidecar.text()

    base = write(base, [])
    sides = [base, write(base, changes), write(base, others)]
    assert merge_sidecars("a.py", *map(enlarge, sides)) == enlarge(merge_sidecars("a.py", *sides))


def test_two_keys_of_one_name_are_read_and_written_by_the_last() -> None:
    first, last = (
        json.dumps([make_comment(n, 1, 1, 0) for n in numbers]).encode() for numbers in (range(1, 9), range(2, 4))
    )
    text = b'{"file": "a.py", "version": "2.1.0", "comments": ' + first + b', "comments": ' + last + b", " + LONG + b"}"
    sidecar = Sidecar("a.py", text)
    sidecar.change("c_2", {"text": "other"})
    written = sidecar.text()
    assert first in written
    assert [each["text"] for each in json.loads(written)["comments"]] == ["other", make_comment(3, 1, 1, 0)["text"]]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (b'"comments": [{"id": "c_1", "text": 1}]', "`$.comments[0].text`"),
        (b'"comments": [], "ghostMarkers": [{"id": "gm_1", "line": "x"}]', "`$.ghostMarkers[0].line`"),
        (b'"comments": {}', "`$.comments`"),
        (b'"comments": [}', "not JSON"),
        (b'"comments": [{"id": "c_1", "text": "\\ud800"}]', "not JSON"),
        (b'"comments": [], "x": ["\\ud83d"]', "not JSON"),
        (b'"comments": [{"id": "c_1", "text": "\xff"}]', "position"),
        (b'"more": 1', "neither comments nor a version"),
    ],
)
def test_what_is_wrong_with_a_large_sidecar_is_said(wrong: bytes, said: str) -> None:
    with pytest.raises(Unreadable) as refused:
        Sidecar("a.py", b"{" + LONG + b"," + wrong + b"}")
    assert said in str(refused.value)


@pytest.mark.parametrize("shift", range(4))
def test_a_character_between_two_slices_is_no_fault_and_half_of_one_is(shift: int) -> None:
    text = "{" + " " * shift + json.dumps({"version": "2.1.0", "x": "\U0001f600" * SLICE}, ensure_ascii=False)[1:]
    Sidecar("a.py", text.encode())
    at = SLICE + 100 + shift
    broken = text.encode()[:at] + b"a" + text.encode()[at:]
    with pytest.raises(Unreadable, match="not JSON"):
        Sidecar("a.py", broken)
