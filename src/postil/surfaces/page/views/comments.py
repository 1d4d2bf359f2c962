"""Comments: found by words and filters, beside the code of a file, and those in doubt with a decision for each."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from msgspec import Struct

from postil.core.failure import Conflict, Failure, NotAllowed, UnknownOperation
from postil.surfaces.page.layout import empty, when
from postil.surfaces.page.markup import Child, Html, tag
from postil.surfaces.page.router import Route
from postil.surfaces.page.views.comment_doubts import delete, place, show_doubts
from postil.surfaces.page.views.comment_thread import (
    MADE_AT,
    Comment,
    MadeChange,
    One,
    file_address,
    name_line,
    name_undo,
    read_number,
    read_version,
    show_code,
    show_comment,
    show_old,
    show_places,
)
from postil.surfaces.page.views.diff_table import Line, show_columns, show_text
from postil.surfaces.page.visit import Moved, Shown, Visit

PAGE = 50
LINES = 1_000
MOST_DAMAGED = 5
MOST_ATTEMPTS = 3
FILTERS = ("tag", "author", "file", "state", "status")
WORDS = {
    "tag": ("TODO", "FIXME", "NOTE", "STAR", "QUESTION", "HACK", "WARNING"),
    "state": ("exact", "moved", "modified", "review", "orphaned"),
    "status": ("open", "resolved", "wontfix"),
}
"""What a filter takes, where that is one of a few words."""


class Damaged(Struct, frozen=True):
    """A file whose comments could not be read."""

    filePath: str
    problem: str


class Found(Struct, frozen=True):
    """What `search_comments` and `comments_list` answer."""

    comments: tuple[Comment, ...]
    totalResults: int = 0
    total: int = 0
    outside: str = ""
    """What is said of comments that a sparse checkout leaves out."""
    damaged: tuple[Damaged, ...] = ()


class CodeLine(Struct, frozen=True):
    """A line of a file."""

    number: int
    text: str
    colors: tuple[tuple[int, int, str], ...] = ()


class FileText(Struct, frozen=True):
    """What `workspace_file` answers."""

    file: str
    lines: tuple[CodeLine, ...]
    total: int


class OfFile(Struct, frozen=True):
    """What `get_file_comments` answers."""

    comments: tuple[Comment, ...]
    outside: str = ""


async def search(visit: Visit) -> Shown:
    """Show the comments that words and filters find."""
    words = visit.query.get("q", "")
    filters = {name: visit.query[name] for name in FILTERS if visit.query.get(name)}
    said: Child = None
    found = Found(())
    try:
        if words:
            found = await visit.call("search_comments", Found, query=words, plain=True, limit=PAGE, **filters)
        else:
            found = await visit.call("comments_list", Found, limit=PAGE, **filters)
    except (UnknownOperation, NotAllowed):  # not for this person
        raise
    except Failure as failure:
        said = tag("p", f"{failure.message} {failure.advice}".strip(), class_="fault-line", role="alert")
    more = max(found.totalResults, found.total) - len(found.comments)
    body = tag(
        "section",
        tag("h1", "Comments"),
        show_places("/comments"),
        _search_form(words, filters),
        said,
        _warn_missing(found.outside, found.damaged),
        [show_comment(visit, one) for one in found.comments],
        tag("p", f"{more} more: narrow it with a filter", class_="quiet") if more > 0 else None,
        _nothing(words, filters) if not found.comments and said is None else None,
        id="comments",
        data_live="comments",
    )
    return Shown("Comments", body, "comments")


def _warn_missing(outside: str, damaged: Sequence[Damaged] = ()) -> list[Html]:
    """Returns what is said of comments that cannot be shown: nothing is left out in silence."""
    said = [f"The comments of {each.filePath} cannot be read: {each.problem}" for each in damaged[:MOST_DAMAGED]]
    if len(damaged) > MOST_DAMAGED:
        said.append(f"{len(damaged) - MOST_DAMAGED} more files cannot be read: postil comments check")
    return [tag("p", each, class_="fault-line", role="status") for each in (*said, outside) if each]


def _search_form(words: str, filters: dict[str, str]) -> Html:
    fields = [
        tag(
            "label",
            tag("span", name.capitalize()),
            tag("input", name=name, value=filters.get(name, ""), size=8, list=f"of-{name}" if name in WORDS else None),
        )
        for name in FILTERS
    ]
    offered = [
        tag("datalist", [tag("option", value=word) for word in known], id=f"of-{name}") for name, known in WORDS.items()
    ]
    return tag(
        "form",
        tag("label", tag("span", "Words"), tag("input", name="q", value=words, type="search")),
        fields,
        offered,
        tag("button", "Show"),
        method="get",
        action="/comments",
        class_="filter",
        id="filter",
        role="search",
    )


def _nothing(words: str, filters: dict[str, str]) -> Html:
    if words or filters:
        return empty("Nothing matches", tag("p", tag("a", "Show all comments", href="/comments")))
    command = 'postil comments add FILE LINE "why it is so"'
    return empty("No comments yet", tag("p", "Write one beside a line of code: ", tag("code", command)))


async def show_file(visit: Visit) -> Shown:
    """Show a file with its comments under the lines they are about."""
    file = visit.query.get("file", "")
    start = read_number(visit.query.get("start", "1"))
    try:
        code = await visit.call("workspace_file", FileText, file=file, start=start, lines=LINES)
    except (UnknownOperation, NotAllowed):  # not for this person
        raise
    except Failure:
        return await _show_gone_file(visit, file)
    found = await visit.call("get_file_comments", OfFile, filePath=code.file, includeOrphaned=True)
    here = [one for one in found.comments if one.path == code.file]
    lost = [one for one in here if one.state == "orphaned" or one.has_left or not 1 <= one.last <= code.total]
    under: dict[int, list[Comment]] = {}
    for one in here:
        if one not in lost:
            under.setdefault(one.last, []).append(one)
    rows = [row for line in code.lines for row in _show_line(visit, line, under.get(line.number, []))]
    last = code.lines[-1].number if code.lines else 0
    body = tag(
        "section",
        tag("h1", code.file),
        tag("p", f"{_count(code.total, 'line')}, {_count(len(found.comments), 'comment')}", class_="quiet"),
        _warn_missing(found.outside),
        tag(
            "table",
            show_columns("n", "t"),
            tag("tbody", rows),
            class_="diff unified source",
            aria_label=code.file,
        ),
        tag("p", tag("a", "More lines", href=f"/comments/file?{urlencode({'file': file, 'start': last + 1})}"))
        if last < code.total
        else None,
        _add_form(visit, code.file),
        _show_lost(visit, lost),
        id="file",
        data_live="comments changes",
    )
    return Shown(code.file, body, "comments")


async def _show_gone_file(visit: Visit, file: str) -> Shown:
    """Show the comments of a file that is not there, or that is no text. Raises the failure where it has none."""
    found = await visit.call("get_file_comments", OfFile, filePath=file, includeOrphaned=True)
    body = tag(
        "section",
        tag("h1", file),
        tag("p", f"This file cannot be shown; it has {_count(len(found.comments), 'comment')}.", class_="quiet"),
        _show_lost(visit, found.comments),
        id="file",
        data_live="comments changes",
    )
    return Shown(file, body, "comments")


def _show_lost(visit: Visit, some: Sequence[Comment]) -> Html | None:
    """Returns the comments that no line of the file is known for: under another line they would mislead."""
    if not some:
        return None
    shown = [tag("div", show_comment(visit, one), tag("p", one.reason, class_="quiet"), show_old(one)) for one in some]
    decide = tag("p", tag("a", "Decide where they belong", href="/comments/doubts"))
    return tag("section", tag("h2", "Without their code"), decide, shown, id="lost")


def _show_line(visit: Visit, line: CodeLine, said: list[Comment]) -> list[Html]:
    shown = Line(" ", line.text, new=line.number, colors=line.colors)
    rows = [
        tag(
            "tr",
            tag("td", class_="num", data_n=line.number),
            tag("td", show_text(shown), class_="text"),
            id=name_line(line.number),
            class_="same",
        )
    ]
    if said:
        threads = [show_comment(visit, one, with_place=False) for one in said]
        rows.append(tag("tr", tag("td", threads, colspan=2), class_="said-row", id=f"under{line.number}"))
    return rows


def _add_form(visit: Visit, file: str) -> Html | None:
    if not visit.offers("add_comment"):
        return None
    return tag(
        "details",
        tag("summary", "Write a comment", class_="button", data_key="a"),
        tag(
            "form",
            visit.form_token(),
            tag("input", type="hidden", name="file", value=file),
            tag("label", tag("span", "Line"), tag("input", name="line", type="number", min=1, required=True)),
            tag("label", tag("span", "What to say"), tag("textarea", name="text", rows=4, required=True)),
            tag("button", "Write", class_="primary"),
            method="post",
            action="/comments",
        ),
        class_="act",
        id="new",
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


async def add(visit: Visit) -> Moved:
    """Write a comment about a line."""
    file, line = visit.form.get("file", ""), read_number(visit.form.get("line", ""))
    await visit.act("add_comment", filePath=file, line=line, text=visit.form.get("text", ""))
    return Moved(file_address(file, line), "Written")


async def reply(visit: Visit, id: str) -> Moved:
    """Answer a comment."""
    await visit.act("comments_reply", commentId=id, text=visit.form.get("text", ""))
    return Moved("/comments", "Said")


async def resolve(visit: Visit, id: str) -> Moved:
    """Settle a comment, or open it again."""
    status = visit.form.get("status", "resolved")
    made = await visit.call("comments_resolve", MadeChange, commentId=id, status=status)
    return Moved("/comments", "Open again" if status == "open" else "Resolved", await name_undo(visit, id, made))


async def edit(visit: Visit, id: str) -> Moved:
    """Change what a comment says, unless somebody else changed that since the person saw it."""
    text, made = visit.form.get("text", ""), None
    for attempt in range(MOST_ATTEMPTS):
        seen = (await visit.call("comments_show", One, commentId=id)).comment
        if seen.wording != visit.form.get("wording", ""):
            visit.form = {**visit.form, "wording": seen.wording}  # sent again, it replaces what is told here
            raise Conflict(
                f"Somebody changed this comment meanwhile. It says now:\n{seen.text}\n",
                advice="What you typed is still here: save it again to replace that.",
            )
        try:
            expected = seen.updated
            made = await visit.call("edit_comment", MadeChange, commentId=id, text=text, expectedUpdated=expected)
            break
        except Conflict:  # between our look and the change: perhaps only an answer
            if attempt == MOST_ATTEMPTS - 1:
                raise
    return Moved(f"/comments/{quote(id, safe='')}", "Saved", await name_undo(visit, id, made))


async def undo(visit: Visit, id: str, version: str) -> Moved:
    """Take back what was just done to a comment, unless somebody else changed it since."""
    made = version.removeprefix(MADE_AT)
    since = Conflict("This comment was changed since: nothing was undone", advice="Look at it, and edit it by hand")
    if not made or (made == version and await read_version(visit, id) != version):
        raise since
    try:
        await visit.act("comments_undo", commentId=id, **({"madeAt": made} if made != version else {}))
    except Conflict:
        raise since from None
    return Moved(f"/comments/{quote(id, safe='')}", "Undone")


class Change(Struct, frozen=True):
    """One thing that happened to a comment."""

    at: str
    did: str
    by: str = ""
    before: str = ""
    after: str = ""


class Life(Struct, frozen=True):
    """What `comments_history` answers."""

    changes: tuple[Change, ...] = ()


async def show_life(visit: Visit, id: str) -> Shown:
    """Show what happened to a comment, as a time line."""
    found = await visit.call("comments_history", Life, commentId=id)
    rows = [
        tag("li", when(one.at), " ", tag("strong", one.by), " ", one.did, f": {one.after}" if one.after else "")
        for one in found.changes
    ]
    return Shown("Its life", tag("ol", rows, class_="history"), "comments", is_part=visit.is_part)


async def show_one(visit: Visit, id: str) -> Shown:
    """Show one comment: what a link to it leads to."""
    found = (await visit.call("comments_show", One, commentId=id)).comment
    body = tag(
        "section",
        tag("h1", found.path),
        show_comment(visit, found),
        tag("p", found.reason, class_="quiet") if found.reason else None,
        show_old(found) if found.state != "exact" else None,
        show_code("The code it is about", found.newText) if found.newText and found.state != "orphaned" else None,
        id="comments",
        data_live="comments",
    )
    return Shown(f"{found.path}:{found.line}", body, "comments")


ROUTES = (
    Route("GET", "/comments", search),
    Route("POST", "/comments", add),
    Route("GET", "/comments/file", show_file),
    Route("GET", "/comments/doubts", show_doubts),
    Route("GET", "/comments/{id}", show_one),
    Route("GET", "/comments/{id}/life", show_life),
    Route("POST", "/comments/{id}/reply", reply),
    Route("POST", "/comments/{id}/resolve", resolve),
    Route("POST", "/comments/{id}/edit", edit),
    Route("POST", "/comments/{id}/undo/{version}", undo),
    Route("POST", "/comments/{id}/place", place),
    Route("POST", "/comments/{id}/delete", delete),
)
