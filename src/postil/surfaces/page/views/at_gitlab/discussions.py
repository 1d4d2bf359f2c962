"""The discussions of a merge request under the lines that they are about; answering and settling them at GitLab."""

from __future__ import annotations

import re

from msgspec import Struct

from postil.core.failure import InvalidArguments
from postil.surfaces.page.layout import when
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.visit import Visit

HOW_TO_CONNECT = (
    "Set GITLAB_TOKEN (and GITLAB_URL, if it is not gitlab.com) where the server runs; `postil doctor` checks it."
)
MOST = 100
"""Discussions that are read; GitLab's own page has all."""
_REFERENCE = re.compile(r"(?:[\w.-]+(?:/[\w.-]+)+)?!\d{1,19}", re.ASCII)
_SPAN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def is_merge_request(scope: str) -> bool:
    """Returns whether a scope names a merge request: `!12`, or `group/project!12`."""
    return _REFERENCE.fullmatch(scope) is not None


class Person(Struct, frozen=True):
    """A user of GitLab."""

    name: str | None = None
    username: str | None = None


class Note(Struct, frozen=True):
    """One thing that was said."""

    id: int | None = None
    body: str | None = None
    author: Person | None = None
    created_at: str | None = None
    system: bool | None = None
    file: str | None = None
    line_number: int | None = None
    side: str | None = None


class Discussion(Struct, frozen=True):
    """A thread of notes."""

    id: str | None
    resolvable: bool
    resolved: bool
    notes: tuple[Note, ...]

    @property
    def place(self) -> tuple[str, str, int]:
        """The file, the side and the line it stands under; empty where it is about the whole."""
        first = self.notes[0]
        return first.file or "", "L" if first.side == "old" else "R", first.line_number or 0


class Discussions(Struct, frozen=True):
    """What `list_merge_request_discussions` answers."""

    discussions: tuple[Discussion, ...]


async def read_discussions(visit: Visit, scope: str) -> tuple[Discussion, ...]:
    """Returns what people said at GitLab, without what GitLab noted by itself."""
    if not visit.offers("list_merge_request_discussions"):
        return ()
    found = await visit.call("list_merge_request_discussions", Discussions, merge_request_iid=scope, per_page=MOST)
    return tuple(one for one in found.discussions if one.notes and not one.notes[0].system)


def show_discussion(visit: Visit, scope: str, one: Discussion) -> Html:
    """Returns a discussion with its notes and what may be done with it."""
    state = ("resolved" if one.resolved else "open") if one.resolvable else ""
    return tag(
        "article",
        tag("header", tag("span", "GitLab", class_="kind"), tag("span", state, class_="state") if state else None),
        tag("ol", [_show_note(note) for note in one.notes if not note.system], class_="replies"),
        _show_acts(visit, scope, one),
        class_=f"thread {'closed' if one.resolved else 'open'}",
        id=f"gl{one.id}",
        data_stop="thread",
        tabindex="-1",
    )


def _show_note(note: Note) -> Html:
    who = (note.author.name or note.author.username) if note.author else None
    return tag(
        "li",
        tag("header", tag("b", who or "somebody"), when(note.created_at) if note.created_at else None),
        tag("p", note.body or "", class_="said"),
    )


def _show_acts(visit: Visit, scope: str, one: Discussion) -> Html:
    hidden = [
        tag("input", type="hidden", name=name, value=value) for name, value in (("scope", scope), ("id", one.id or ""))
    ]
    acts: list[Html] = []
    if visit.offers("comment_on_merge_request"):
        form = tag("form", visit.form_token(), hidden, tag("label", tag("span", "Your answer"),
                   tag("textarea", name="body", rows=3, required=True)),
                   tag("button", "Reply at GitLab", class_="primary", name="act", value="reply"), method="post",
                   action="/changes/discussion")  # fmt: skip
        acts.append(tag("details", tag("summary", "Reply", data_key="r"), form, class_="act"))
    if one.resolvable and visit.offers("resolve_discussion"):
        act = "reopen" if one.resolved else "resolve"
        button = tag("button", act.capitalize(), name="act", value=act, data_key="e")
        acts.append(tag("form", visit.form_token(), hidden, button, method="post", action="/changes/discussion"))
    return tag("div", acts, class_="acts")


async def answer_discussion(visit: Visit) -> str:
    """Answer a discussion at GitLab, settle it or open it again. Returns what was done."""
    form = visit.form
    scope, number, act = form.get("scope", ""), form.get("id", ""), form.get("act", "reply")
    if act == "reply":
        body = form.get("body", "")
        await visit.act("comment_on_merge_request", merge_request_iid=scope, body=body, discussion_id=number)
        return "Said at GitLab"
    resolved = act == "resolve"
    await visit.act("resolve_discussion", merge_request_iid=scope, discussion_id=number, resolved=resolved)
    return "Resolved at GitLab" if resolved else "Open again at GitLab"


async def comment_on_lines(visit: Visit) -> str:
    """Write a remark about lines as a comment at GitLab. Returns what was done."""
    form = visit.form
    found = _SPAN.fullmatch(form.get("line", ""))
    if found is None:
        raise InvalidArguments("A comment at GitLab stands on lines", advice="Choose lines of the change")
    first, last = int(found[1]), int(found[2] or found[1])
    old = form.get("side") == "L"
    place: dict[str, object] = {"old_line" if old else "line": last}
    if first != last:
        place["start_old_line" if old else "start_line"] = first
    if "suggest" in form:
        place["suggestion"] = form["suggest"]
    head = form.get("version", "").rpartition("..")[2]
    await visit.act(
        "comment_on_merge_request",
        merge_request_iid=form.get("scope", ""),
        body=form.get("comment", ""),
        path=form.get("file", ""),
        **place,
        **({"sha": head} if head else {}),
    )
    return "Commented at GitLab"
