"""Comments in doubt: the old code, the places where it may be now, and one decision each."""

from __future__ import annotations

from msgspec import Struct

from postil.surfaces.page.layout import empty
from postil.surfaces.page.markup import Child, Html, tag
from postil.surfaces.page.views.comment_thread import (
    Candidate,
    Comment,
    file_address,
    make_button,
    name_undo,
    read_number,
    show_comment,
    show_old,
    show_places,
)
from postil.surfaces.page.visit import Moved, Shown, Visit

PAGE = 10
"""Each is explained with the commit that changed its code, which git has to be asked for."""


class Doubted(Struct, frozen=True):
    """What `comments_doubts` answers."""

    comments: tuple[Comment, ...]
    total: int = 0


class Deleted(Struct, frozen=True):
    """What `delete_comment` answers."""

    undo: str = ""
    """How it comes back, where it can."""


async def show_doubts(visit: Visit) -> Shown:
    """Show the comments whose code is gone or not surely found: one decision each."""
    skip = visit.number("skip")
    found = await visit.call("comments_doubts", Doubted, limit=PAGE, skip=skip)
    left = found.total - skip - len(found.comments)
    body = tag(
        "section",
        tag("h1", "Comments in doubt"),
        show_places("/comments/doubts"),
        [_show_doubt(visit, one) for one in found.comments],
        tag("p", tag("a", f"{left} more", href=f"/comments/doubts?skip={skip + PAGE}")) if left > 0 else None,
        empty("Every comment knows its code") if not found.comments else None,
        id="doubts",
        data_live="comments",
    )
    return Shown("Comments in doubt", body, "comments")


def _show_doubt(visit: Visit, one: Comment) -> Html:
    address = f"/comments/{one.id}"
    keep = make_button(visit, f"{address}/place", "It is right where it is", "y", file=one.path, line=str(one.line))
    elsewhere = _show_elsewhere(visit, f"{address}/place", one)
    delete = make_button(visit, f"{address}/delete", "Delete the comment", "w", file=one.filePath)
    return tag(
        "section",
        show_comment(visit, one),
        tag("p", one.reason, class_="quiet") if one.reason else None,
        show_old(one),
        tag("ol", [_show_candidate(visit, one, number, each) for number, each in enumerate(one.candidates[:9], 1)])
        if one.candidates
        else None,
        tag(
            "div",
            keep if one.state != "orphaned" and not one.has_left and visit.offers("move_comment") else None,
            elsewhere if visit.offers("move_comment") else None,
            delete if visit.offers("delete_comment") else None,
            class_="acts",
        ),
        class_="doubt",
        id=f"d{one.id}",
        data_stop="doubt",
        tabindex="-1",
    )


def _show_elsewhere(visit: Visit, address: str, one: Comment) -> Html:
    """Returns a form for the place that nobody proposed: a person may know where the code went."""
    line = tag("input", name="line", type="number", min=1, required=True)
    return tag(
        "details",
        tag("summary", "It belongs elsewhere", class_="button", data_key="m"),
        tag(
            "form",
            visit.form_token(),
            tag("label", tag("span", "Line"), line),
            tag("label", tag("span", "File"), tag("input", name="file", value=one.path, required=True)),
            tag("button", "Place it there", class_="primary"),
            method="post",
            action=address,
        ),
        class_="act",
    )


def _show_candidate(visit: Visit, one: Comment, number: int, each: Candidate) -> Html:
    inside = f", in {each.inside}" if each.inside else ""
    place = make_button(
        visit, f"/comments/{one.id}/place", f"Here ({number})", str(number), file=each.path, line=str(each.line)
    )
    return tag(
        "li",
        tag("a", f"{each.path}:{each.line}", href=file_address(each.path, each.line)),
        f"{inside}, {round(each.confidence * 100)} %",
        tag("pre", _show_lines(each), tabindex="0"),
        place if visit.offers("move_comment") else None,
    )


def _show_lines(each: Candidate) -> list[Child]:
    """Returns the lines around a candidate, its own one marked."""
    at = min(each.line, 2) - 1
    if at >= len(each.around):
        return [tag("mark", each.text)]
    above, own, below = each.around[:at], each.around[at], each.around[at + 1 :]
    return [*(f"{line}\n" for line in above), tag("mark", own), *(f"\n{line}" for line in below)]


async def place(visit: Visit, id: str) -> Moved:
    """Decide where the code of a comment is."""
    line = read_number(visit.form.get("line", ""))
    await visit.act("move_comment", commentId=id, targetFile=visit.form.get("file", ""), targetLine=line)
    return Moved("/comments/doubts", "Placed", await name_undo(visit, id))


async def delete(visit: Visit, id: str) -> Moved:
    """Take a comment away."""
    deleted = await visit.call("delete_comment", Deleted, commentId=id, filePath=visit.form.get("file", ""))
    return Moved("/comments/doubts", "Deleted", await name_undo(visit, id) if deleted.undo else "")
