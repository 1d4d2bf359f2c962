"""Comments that are larger than anybody writes: what is shown of them is bounded, and says so."""

from __future__ import annotations

import msgspec
import pytest

from postil.comments.index.fit import fit, fit_text
from postil.comments.index.notes import TooLarge, make_note
from postil.comments.model import Anchor, Candidate, Comment, Located, Marker, Place, Reply, Revision
from postil.core import limits

HUGE = "word " * 400_000
AT = "2026-01-01T00:00:00.000Z"


def locate(comment: Comment, marker: Marker | None = None, place: Place | None = None) -> Located:
    return Located(comment, marker, place or Place("exact", "a.py", 1), "a.py")


def measure(each: Located) -> int:
    return len(msgspec.msgpack.encode(each))


def test_what_people_write_stays_as_it_is() -> None:
    replies = tuple(Reply(f"r_{number}", "x" * 10_000, "ann", AT) for number in range(20))
    each = locate(Comment("c_1", "x" * 10_000, "ann", AT, AT, replies=replies))
    assert fit(each) == each


def test_a_giant_text_is_cut_and_says_how_much_is_missing() -> None:
    assert fit_text(HUGE).endswith("\n[postil: 1,934,464 more characters are in the comment file]")
    assert measure(fit(locate(Comment("c_1", HUGE + "\U0001f600", "ann", AT, AT)))) < 2 * limits.TEXT


def test_of_very_many_replies_the_last_are_shown() -> None:
    replies = tuple(Reply(f"r_{number}", "x" * 1000, "ann", AT) for number in range(10_000))
    kept = fit(locate(Comment("c_1", "x", "ann", AT, AT, replies=replies))).comment.replies
    assert kept[-1] == replies[-1]
    assert kept[0].text.startswith(f"[postil: {10_000 - len(kept):,} before this one are in the comment file]\n")


def test_whatever_is_giant_the_whole_is_not() -> None:
    anchor = Anchor(pre=(HUGE,), body=(HUGE,), wrote=(HUGE,))
    options = (Candidate("b.py", 1, 0.5, HUGE),) * 100
    comment = Comment(
        "c_1", HUGE, "ann", AT, AT, aiMeta={"model": "m", "more": HUGE}, revisions=(Revision(HUGE),) * 9,
        replies=(Reply("r_1", HUGE, "ann", AT),) * 9,
    )  # fmt: skip
    each = locate(comment, Marker("gm_1", 1, ("c_1",), anchor=anchor), Place("review", "a.py", 1, oldText=HUGE,
                  newText=HUGE, candidates=options))  # fmt: skip
    fitted = fit(each)
    assert measure(fitted) < limits.COMMENT
    assert fitted.comment.aiMeta == {"model": "m"}
    assert make_note(each).text == fitted.comment.text


def test_a_giant_that_is_no_text_is_refused() -> None:
    with pytest.raises(TooLarge):
        make_note(locate(Comment("c_" + HUGE, "x", "ann", AT, AT)))
