"""The entity that was folded last: one more comment adds to its row, and the others need not be folded again.

Whoever comments again and again on one issue would pay for all comments each time. Only what is certain is taken so: a
new comment of a new id, after everything by clock, number and knowledge, on a thing that was made once. Anything else
is folded in full.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from postil.tracker.events import LARGE, CommentDeleted, Commented, CommentEdited, Created, Event
from postil.tracker.state.causality import End


class LastFold:
    """The lines that an entity was folded of, and what must be known of them to add a comment."""

    def __init__(self) -> None:
        self._lines = b""
        self._end: End | None = None
        self._names: set[str] = set()
        """Ids of events, and of comments that were made, edited or deleted."""

    def keep(self, lines: bytes, events: Sequence[Event], *, is_shown: bool) -> None:
        """Remember an entity that was folded just now; or none, where a comment may do more than add to it."""
        self._lines, self._end, self._names = b"", None, set()
        ids = {event.id for event in events}
        made = sum(isinstance(event, Created) for event in events)
        if not is_shown or made != 1 or len(ids) != len(events) or len(lines) >= LARGE:
            return
        self._end = End.of(events)
        if self._end is not None:
            named = (Commented, CommentEdited, CommentDeleted)
            self._lines, self._names = lines, ids | {event.c for event in events if isinstance(event, named)}

    def take(self, lines: bytes, arrived: Sequence[Event], grown: bytes) -> list[Commented]:
        """Returns the events that arrived, if they are comments that only add to what these lines are.

        From then on the entity is of the `grown` lines. Nothing is returned where it has to be folded in full.
        """
        end, found = self._end, list[Commented]()
        if end is None or lines != self._lines or len(grown) >= LARGE:
            return []
        for event in arrived:
            is_new = isinstance(event, Commented) and self._names.isdisjoint((event.id, event.c))
            if not is_new or not end.add(event):
                self._end = None  # of what was added to it nothing is known for sure
                return []
            assert isinstance(event, Commented)
            self._names.update((event.id, event.c))
            found.append(event)
        self._lines = grown
        return found


def add_comments(db: sqlite3.Connection, n: int, comments: Sequence[Commented], with_words: bool) -> None:
    """Add comments to the row of an entity, as folding it in full would."""
    last = comments[-1]
    db.execute("DELETE FROM detail WHERE n = ?", (n,))
    db.execute(
        "UPDATE ent SET comments = comments + ?, updated_l = ?, updated_r = ?, updated_ts = ? WHERE n = ?",
        (len(comments), last.l, last.r, last.ts, n),
    )
    if with_words:
        words = "".join(f"\n{event.body}" for event in comments).casefold()
        db.execute("UPDATE words SET text = text || ? WHERE n = ?", (words, n))
