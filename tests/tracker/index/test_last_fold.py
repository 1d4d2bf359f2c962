"""One more comment adds to the row of an issue, and the row is what folding everything in full makes it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.tracker import events as ev
from postil.tracker.events import Event, encode
from postil.tracker.index import rows
from postil.tracker.index.last_fold import LastFold
from postil.tracker.index.tables import Row, join_words, make_row
from postil.tracker.state.fold import fold
from postil.tracker.store import Store
from tests.tracker.stores import create, fresh

ISSUE = "11111111-0000-4000-8000-000000000001"


def make_event(dice: random.Random, number: int) -> ev.Known:
    """An event of one of few writers, whose clocks, numbers, knowledge and names are now and then a lie."""
    r = dice.choice("abc")
    place: dict[str, Any] = {
        "ent": ISSUE,
        "id": f"e{number if dice.random() < 0.95 else dice.randrange(12)}",
        "r": r,
        "n": number + 1 if dice.random() < 0.9 else dice.randrange(1, 12),
        "l": number + 1 if dice.random() < 0.9 else dice.randrange(1, 12),
        "ts": f"2026-11-18T12:00:{number:02d}Z",
        "a": "A <a@example.org>",
    }
    if dice.random() < 0.5:
        place["dep"] = {dice.choice("abc"): dice.randrange(1, number + 2 if dice.random() < 0.9 else 16)}
    c = f"c{number}" if dice.random() < 0.9 else dice.choice([f"c{dice.randrange(12)}", f"e{dice.randrange(12)}"])
    kinds = [lambda: ev.Commented(c=c, body=f"Words Straße {number % 3}", **place)] * 6 + [
        lambda: ev.CommentEdited(c=f"c{dice.randrange(12)}", body="other words", **place),
        lambda: ev.CommentDeleted(c=f"c{dice.randrange(12)}", **place),
        lambda: ev.Set(f=dice.choice(["title", "status", "deleted"]), value=dice.choice(["true", "closed"]), **place),
        lambda: ev.Labelled(add=("x",), rm=("y",), **place),
        lambda: ev.Created(kind="issue", title="again", **place),
        lambda: ev.Claimed(who="me", until="2026-12-01T00:00:00Z", **place),
    ]
    return dice.choice(kinds)()


def join(events: list[ev.Known]) -> bytes:
    return b"\n".join(map(encode, events))


@settings(max_examples=300, deadline=None)
@given(st.integers(min_value=0))
def test_a_comment_that_only_adds_makes_what_folding_in_full_makes(seed: int) -> None:
    dice = random.Random(seed)
    first = ev.Created(ent=ISSUE, id="e0", r="a", n=1, l=1, kind="issue", title="First")
    known = [first, *(make_event(dice, number) for number in range(1, dice.randrange(1, 9)))]
    recent = LastFold()
    before = fold(known)
    recent.keep(join(known), known, is_shown=before is not None and not before.deleted)
    for number in range(9, 13):
        arrived = [make_event(dice, number + step) for step in range(dice.randrange(1, 3))]
        grown = [*known, *arrived]
        comments = recent.take(join(known), arrived, join(grown))
        now = fold(grown)
        if comments:
            assert before is not None
            assert now is not None
            last = comments[-1]
            row = Row(*make_row(1, before))._replace(  # pyright: ignore[reportArgumentType]
                updated_l=last.l, updated_r=last.r, updated_ts=last.ts, comments=len(before.comments) + len(comments)
            )
            assert make_row(1, now) == tuple(row)
            assert join_words(now) == join_words(before) + "".join(f"\n{each.body}" for each in comments).casefold()
        else:
            recent.keep(join(grown), grown, is_shown=now is not None and not now.deleted)
        known, before = grown, now


def read(store: Store) -> list[list[tuple[object, ...]]]:
    """Returns the tables, without the numbers of entities: those depend on the order in which they came."""
    store.refresh()
    store.index.need_words()
    columns = ", ".join(name for name in Row._fields if name != "n")
    asked = [f"SELECT {columns} FROM ent ORDER BY id"]
    asked += [f"SELECT id, {name}.* FROM {name} JOIN ent USING (n) ORDER BY 1, 2" for name in ("label", "words")]
    return [
        [tuple(value for value in row if not isinstance(value, int) or at == 0) for row in found]
        for at, found in enumerate(store.index.db.execute(each).fetchall() for each in asked)
    ]


def comment(store: Store, id_: str, number: int) -> None:
    with store.transaction() as tx:
        tx.write(ev.Commented, id_, c=f"c{number}", body=f"Word {number}")


def test_comments_one_after_the_other_are_in_the_row_as_in_an_index_that_is_built_anew(
    store: Store, repository: Path
) -> None:
    id_, other = create(store, "one", labels=("x",)), create(store, "two")
    store.index.need_words()
    for number in range(6):
        comment(store, id_, number)
    with store.transaction() as tx:
        tx.write(ev.Set, id_, f="title", value="another")
    for number in range(6, 9):
        comment(store, id_, number)
        comment(fresh(repository), id_, 10 * number)  # another process, in between
    comment(store, other, 100)
    kept = read(store)
    store.index.close()
    shutil.rmtree(repository / ".git/postil")
    again = fresh(repository)
    assert read(again) == kept
    assert again.index.db.execute("SELECT comments FROM ent WHERE id = ?", (id_,)).fetchone() == (12,)


def test_a_comment_after_a_comment_folds_and_reads_nothing_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = create(store)
    for number in range(3):
        comment(store, id_, number)
    monkeypatch.delattr(rows, "fold")
    monkeypatch.delattr(rows, "fold_lines")
    sizes: list[int] = []
    really = ev.decode_lines

    def count(lines: bytes) -> list[Event]:
        sizes.append(lines.count(b"\n") + 1)
        return really(lines)

    monkeypatch.setattr(ev, "decode_lines", count)
    for number in range(3, 6):
        comment(store, id_, number)
    assert max(sizes, default=0) <= 1
    assert store.index.db.execute("SELECT comments FROM ent").fetchone() == (6,)
