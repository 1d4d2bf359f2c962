"""One changed file: its head, its lines with what was said under them, its pictures, and whether it was reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct

from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.views.at_gitlab.discussions import Discussion, is_merge_request, show_discussion
from postil.surfaces.page.views.conversation import Message, show_thread
from postil.surfaces.page.views.diff_table import Hunk, name_file, show_split, show_unified
from postil.surfaces.page.views.requested.asked_review import Note, show_note
from postil.surfaces.page.visit import Visit

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico")


class File(Struct, frozen=True):
    """One file, as `workspace_changes` answers it."""

    file: str
    change: str
    added: int = 0
    removed: int = 0
    old_file: str = ""
    is_binary: bool = False
    old: str = ""
    new: str = ""


class FileDiff(Struct, frozen=True):
    """How one file differs."""

    file: File
    hunks: tuple[Hunk, ...] = ()
    more: int = 0
    skipped: int = 0


class Showing(Struct, frozen=True):
    """How the person looks at it."""

    scope: str
    is_split: bool
    request: int = 0
    """The review that an assistant asks for, whose changes these are."""
    notes: tuple[Note, ...] = ()
    discussions: tuple[Discussion, ...] = ()
    """What was said at GitLab, of a merge request."""

    @property
    def is_merge_request(self) -> bool:
        """Whether it is a merge request of GitLab, and nothing of the work tree."""
        return is_merge_request(self.scope)

    def name_mark(self, file: str) -> str:
        """Returns what a file is marked as reviewed by: of a merge request another mark than of the work tree."""
        return f"{self.scope} {file}" if self.is_merge_request else file

    def address(self, path: str = "/changes", **more: str) -> str:
        """Returns an address of this view."""
        shown = {"request": str(self.request)} if self.request else {"scope": self.scope}
        fields = {**shown, "layout": "split" if self.is_split else "", **more}
        query = urlencode({name: value for name, value in fields.items() if value})
        return f"{path}?{query}" if query else path


def is_reviewed(one: File, marks: dict[str, str]) -> bool:
    return bool(one.file in marks and marks[one.file] == _name_version(one))


def _name_version(one: File) -> str:
    """Returns what a mark is about: the new content, or that the old one is gone."""
    return one.new or (f"-{one.old}" if one.old else "")


def show_counts(one: File) -> Html:
    if one.is_binary:
        return tag("span", "binary", class_="quiet")
    return tag("span", tag("ins", f"+{one.added}"), " ", tag("del", f"-{one.removed}"), class_="counts")


def show_later(visit: Visit, showing: Showing, one: File, marks: dict[str, str]) -> Html:
    """Returns the place of a file that is not read yet; without a script it is a link."""
    source = showing.address("/changes/files", f=one.file)
    return _section(
        visit,
        showing,
        one,
        marks,
        tag("p", tag("a", "Show this file", href=source)),
        later=True,
        data_lazy=True,
        data_lines=min(one.added + one.removed + 6, 2_000),
    )


def show_file(
    visit: Visit,
    showing: Showing,
    version: str,
    diff: FileDiff,
    messages: Sequence[Message],
    marks: dict[str, str],
) -> Html:
    """Returns one file with its lines, and under them what was said."""
    one = diff.file
    about = [message for message in messages if message.file == one.file and _belongs(message, version)]
    waiting = {message.id: message for message in about}
    notes = [note for note in showing.notes if note.file == one.file]
    said = [each for each in showing.discussions if each.place[0] == one.file]

    def under(side: str, number: int) -> list[Html]:
        here = [message for message in waiting.values() if _place(message, version) == (side, number)]
        for message in here:
            del waiting[message.id]
        noted = [note for note in notes if _place(note, version) == (side, number)]
        for note in noted:
            notes.remove(note)
        there = [each for each in said if each.place[1:] == (side, number)]
        for each in there:
            said.remove(each)
        return [
            *map(show_note, noted),
            *(show_discussion(visit, showing.scope, each) for each in there),
            *(show_thread(visit, message) for message in here),
        ]

    table = (show_split if showing.is_split else show_unified)(one.file, diff.hunks, under) if diff.hunks else None
    above = [*map(show_note, notes), *(show_discussion(visit, showing.scope, each) for each in said)]
    above += [show_thread(visit, message) for message in waiting.values()]
    above = above if not diff.skipped else []
    return _section(
        visit,
        showing,
        one,
        marks,
        tag("div", above, class_="said-row") if above else None,
        table
        if table is not None
        else _show_pictures(showing, one) or tag("p", _why_empty(showing, one), class_="quiet"),
        _show_more(showing, diff) if diff.more else None,
    )


def _show_more(showing: Showing, diff: FileDiff) -> Html:
    after = diff.skipped + sum(len(hunk.lines) for hunk in diff.hunks)
    address = showing.address("/changes/files", f=diff.file.file, skip=str(after))
    return tag("p", tag("a", f"{diff.more} lines more", href=address, data_more=True))


def _show_pictures(showing: Showing, one: File) -> Html | None:
    """Returns a picture as it was and as it is."""
    if not one.is_binary or not one.file.lower().endswith(PICTURES) or showing.is_merge_request:
        return None
    sides = [("old", "Before", one.old), ("new", "After", one.new)]
    shown = [
        tag("figure", tag("img", src=showing.address("/changes/picture", f=one.file, side=side),
            alt=f"{one.file}, {title.lower()}"), tag("figcaption", title))
        for side, title, there in sides
        if there or (side == "new" and one.change != "deleted")
    ]  # fmt: skip
    return tag("div", shown, class_="pictures")


def _show_mark(visit: Visit, showing: Showing, one: File, *, marked: bool) -> Html | None:
    if not visit.offers("inbox_mark_reviewed") or not _name_version(one):
        return None
    content = "" if marked else _name_version(one)
    fields = [
        tag("input", type="hidden", name=name, value=value)
        for name, value in (("file", showing.name_mark(one.file)), ("content", content))
    ]
    words = "Reviewed ✓" if marked else "Mark as reviewed"
    button = tag("button", words, data_key="x", class_="reviewed" if marked else "quiet")
    return tag("form", visit.form_token(), fields, button, method="post", action="/changes/reviewed", class_="mark")


def _section(
    visit: Visit,
    showing: Showing,
    one: File,
    marks: dict[str, str],
    *inside: Html | None,
    later: bool = False,
    **more: str | int | bool | None,
) -> Html:
    was_reviewed = is_reviewed(one, marks)
    was = tag("span", f"was {one.old_file}", class_="quiet") if one.old_file else None
    head = tag(
        "summary",
        tag("b", one.file),
        " ",
        tag("span", one.change, class_=f"change {one.change}"),
        was,
        " ",
        show_counts(one),
    )
    return tag(
        "section",
        tag("details", head, *inside, open=not was_reviewed),
        None if later and not was_reviewed else _show_mark(visit, showing, one, marked=was_reviewed),
        class_="file",
        id=name_file(one.file),
        data_src=showing.address("/changes/files", f=one.file, part="1"),
        data_file=one.file,
        **more,
    )


def _why_empty(showing: Showing, one: File) -> str:
    if showing.is_merge_request and one.change != "renamed":
        return "GitLab shows no lines of it: it is binary, or too large."
    if one.is_binary:
        return "A binary file: its content is not shown."
    return "Its content did not change." if one.change in ("renamed", "type", "copied") else "There is nothing to show."


def _belongs(message: Message, version: str) -> bool:
    """Returns whether a message is shown with these versions: a closed one only where it was written."""
    if version and ".." in version:
        return not message.commit or version.endswith(message.commit)
    return not message.is_closed or message.replies != ()


def _place(message: Message | Note, version: str) -> tuple[str, int]:
    """Returns the side and the line that a message stands under now; line 0 where it has none."""
    if message.side == "old":
        return "L", _last(message.line)
    there = bool(message.commit) and version.endswith(message.commit)
    if there or message.anchor is None or message.anchor.state == "unknown":
        return "R", _last(message.line)
    return "R", _last(message.anchor.line)


def _last(line: str) -> int:
    last = line.rpartition("-")[2]
    return int(last) if last.isdecimal() else 0
