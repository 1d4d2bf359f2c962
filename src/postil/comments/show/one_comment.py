"""A comment on one line."""

from __future__ import annotations

from postil.comments.operations.answers import CommentNow
from postil.comments.sidecar.format import strip_tag
from postil.core import call
from postil.core.others.one_line import on_one_line
from postil.core.others.own_words import in_brackets


def cut_said(text: str, most: int) -> str:
    """Returns the beginning of the first line of what was said; of all lines where no terminal has to hold it."""
    room = call.room_in_list(most)
    first, _, rest = text.partition("\n") if room == most else (on_one_line(text[: room + 1]), "", "")
    return first[:room] + ("…" if rest or len(first) > room else "")


def show_row(each: CommentNow, name: str) -> str:
    """Returns a comment on one line, for people: a name that can be typed, who said it, and how long ago."""
    where, mark = _show_place(each)
    status = "" if each.status == "open" else f" {in_brackets(each.status)}"
    said = cut_said(strip_tag(each.said, each.tag), 80)
    replies = f" (+{len(each.replies)})" if each.replies else ""
    who = f"{each.signed}, {call.current().tell_moment(each.created)}"
    return on_one_line(
        f"{name:>6}  {where}  {in_brackets(each.tag or 'COMMENT')}{mark}{status}  {who}: {said}{replies}"
    )


def _show_place(each: CommentNow) -> tuple[str, str]:
    """Returns where a comment is, and what marks it in a list."""
    where = f"{each.path}:{each.lines}"
    if (each.movedTo or each.state == "review") and (origin := each.origin):
        where += f" ({origin})"
    mark = "" if each.state in ("exact", "moved") else f" {in_brackets(each.state)}"
    if each.stale:
        mark += f" {in_brackets('stale')}"
    return where, mark + each.wordings


def show_line(each: CommentNow) -> str:
    """Returns a comment on one line, for lists."""
    where, mark = _show_place(each)
    status = "" if each.status == "open" else f" ({each.status})"
    said = cut_said(strip_tag(each.said, each.tag), 100)
    answered = f" (+{len(each.replies)})" if each.replies else ""
    return on_one_line(f"{where}  {each.tag or 'COMMENT'}{mark}{status}  {each.signed}: {said}{answered}  {each.id}")
