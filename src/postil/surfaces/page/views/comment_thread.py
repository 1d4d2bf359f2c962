"""A comment as the page reads and shows it: its words, where its code is, what may be done with it."""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.json import encode

from postil.core.failure import NotFound
from postil.surfaces.page.layout import later, when
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.visit import Visit

STATES = {
    "exact": "where it was",
    "moved": "its code moved, and it with it",
    "drifted": "its code was changed",
    "review": "where its code went is not sure",
    "orphaned": "its code is gone",
}


class Reply(Struct, frozen=True):
    """One answer in a thread."""

    text: str
    author: str
    created: str


class Wording(Struct, frozen=True):
    """Other words that a merge kept beside those that it shows."""

    text: str
    author: str = ""


class Candidate(Struct, frozen=True):
    """A place where the code may be now."""

    path: str
    line: int
    confidence: float
    text: str
    inside: str = ""
    around: tuple[str, ...] = ()


class Comment(Struct, frozen=True):
    """One comment and where it stands now."""

    id: str
    filePath: str
    line: int
    text: str
    author: str
    created: str
    state: str
    updated: str = ""
    editedBy: str = ""
    markerId: str = ""
    tag: str | None = None
    endLine: int = 0
    status: str = "open"
    confidence: float = 1.0
    reason: str = ""
    movedTo: str = ""
    stale: bool = False
    oldText: str = ""
    oldAround: tuple[str, ...] = ()
    newText: str = ""
    candidates: tuple[Candidate, ...] = ()
    replies: tuple[Reply, ...] = ()
    revisions: tuple[Wording, ...] = ()

    @property
    def path(self) -> str:
        """The file that the line is of."""
        return self.movedTo or self.filePath

    @property
    def last(self) -> int:
        """The line that it stands under."""
        return max(self.line, self.endLine)

    @property
    def has_left(self) -> bool:
        """Whether its code is not in its file any more, and where it went is for a person to say."""
        return self.state == "review" and bool(self.candidates) and self.candidates[0].path != self.path

    @property
    def is_open(self) -> bool:
        """Whether it is not settled."""
        return self.status == "open"

    @property
    def wording(self) -> str:
        """What no other text has: an edit is made on this one."""
        return _digest(self.text)

    @property
    def version(self) -> str:
        """What no other words, status or place have: the last change of them is what can be undone."""
        return _digest([self.text, self.tag, self.status, self.markerId])


class One(Struct, frozen=True):
    """What `comments_show` answers."""

    comment: Comment


MADE_AT = "at-"
GONE = "gone"
"""The version of a comment that is not there."""


def _digest(value: object) -> str:
    return sha256(encode(value)).hexdigest()[:16]


async def read_version(visit: Visit, id_: str) -> str:
    """Returns what a comment is now, to be told from what somebody else makes of it."""
    try:
        return (await visit.call("comments_show", One, commentId=id_)).comment.version
    except NotFound:
        return GONE


class MadeChange(Struct, frozen=True):
    """What an edit or a decision answers: the moment that it is known by."""

    updated: str


async def name_undo(visit: Visit, id_: str, made: MadeChange | None = None) -> str:
    """Returns the address that takes back what was just done to a comment; nothing where this person cannot.

    An edit or a decision is named by its moment: the same words may be there again when others changed them twice.
    """
    if not visit.offers("comments_undo"):
        return ""
    version = quote(MADE_AT + made.updated, safe="") if made else await read_version(visit, id_)
    return f"/comments/{quote(id_, safe='')}/undo/{version}"


def file_address(file: str, line: int = 0) -> str:
    """Returns the address of a file with its comments, at a line."""
    return "/comments/file?" + urlencode({"file": file}) + (f"#{name_line(line)}" if line else "")


def name_line(line: int) -> str:
    """Returns the name of a line on the page of its file."""
    return f"L{line}"


def show_comment(visit: Visit, one: Comment, *, with_place: bool = True) -> Html:
    """Returns a comment with its answers and what may be done with it."""
    lines = f"{one.line}-{one.endLine}" if one.endLine > one.line else str(one.line)
    address = file_address(one.path, one.line) if one.state != "orphaned" else f"{file_address(one.path)}#k{one.id}"
    place = tag("a", f"{one.path}:{lines}", href=address) if with_place else None
    return tag(
        "article",
        tag(
            "header",
            tag("span", one.tag, class_="kind") if one.tag else None,
            place,
            _show_origin(one) if with_place else None,
            tag("span", one.state, class_=f"anchor {one.state}", title=STATES.get(one.state, "")),
            tag("span", one.status, class_="state") if not one.is_open else None,
            tag("strong", one.author),
            tag("span", f"edited by {one.editedBy}", class_="quiet") if one.editedBy else None,
            tag("a", when(one.created), href=f"/comments/{quote(one.id, safe='')}", class_="quiet"),
        ),
        tag("p", one.text, class_="said"),
        [_show_wording(each) for each in one.revisions],
        tag("ol", [_reply(each) for each in one.replies], class_="replies") if one.replies else None,
        _acts(visit, one),
        class_=f"thread {'open' if one.is_open else 'closed'}",
        id=f"k{one.id}",
        data_stop="thread",
        tabindex="-1",
    )


def _show_origin(one: Comment) -> Html | None:
    """Returns where the code may be, or where the comment is kept, when that is another file, as lists say it."""
    if one.has_left:
        likely = one.candidates[0]
        there = tag("a", f"{likely.path}:{likely.line}", href=file_address(likely.path, likely.line))
        return tag("span", "may be at ", there, class_="quiet")
    return tag("span", f"was in {one.filePath}", class_="quiet") if one.movedTo else None


def show_old(one: Comment) -> Html | None:
    """Returns the code that a comment was about; of a blank line what stood around it."""
    code = "\n".join(one.oldAround) or one.oldText
    return show_code("The code it was about", code) if code else None


def show_code(title: str, code: str) -> Html:
    """Returns a piece of code with what it is."""
    return tag("figure", tag("figcaption", title), tag("pre", code, tabindex="0"))


def _show_wording(one: Wording) -> Html:
    return tag("p", tag("span", f"A merge kept, as {one.author} said it: ", class_="quiet"), one.text, class_="said")


def _reply(one: Reply) -> Html:
    return tag("li", tag("strong", one.author), " ", when(one.created), tag("p", one.text, class_="said"))


def _acts(visit: Visit, one: Comment) -> Html:
    address = f"/comments/{quote(one.id, safe='')}"
    reply = tag(
        "details",
        tag("summary", "Reply", class_="button", data_key="r"),
        tag(
            "form",
            visit.form_token(),
            tag("label", tag("span", "Answer"), tag("textarea", name="text", rows=3, required=True)),
            tag("button", "Reply", class_="primary"),
            method="post",
            action=f"{address}/reply",
        ),
        class_="act",
    )
    settle = make_button(visit, f"{address}/resolve", "Resolve" if one.is_open else "Reopen", "e",
                         status="resolved" if one.is_open else "open")  # fmt: skip
    life = tag("details", tag("summary", "Its life"), later(f"{address}/life", "Show it"), class_="act")
    acts = (
        ("comments_reply", reply),
        ("edit_comment", _edit_form(visit, one, address)),
        ("comments_resolve", settle),
        ("comments_history", life),
    )
    return tag("div", [form for name, form in acts if visit.offers(name)], class_="acts")


def _edit_form(visit: Visit, one: Comment, address: str) -> Html:
    """Returns the form that changes what a comment says; `wording` is the text that the person began with."""
    text = tag("textarea", "\n" + one.text, name="text", rows=min(12, one.text.count("\n") + 3), required=True)
    delete = make_button(visit, f"{address}/delete", "Delete the comment", file=one.filePath)
    return tag(
        "details",
        tag("summary", "Edit", class_="button", data_key="i"),
        tag(
            "form",
            visit.form_token(),
            tag("input", type="hidden", name="wording", value=one.wording, data_held=True),
            tag("label", tag("span", "What it says"), text),
            tag("button", "Save", class_="primary"),
            " ",
            tag("button", "As it was", type="reset"),
            method="post",
            action=f"{address}/edit",
        ),
        delete if visit.offers("delete_comment") else None,
        class_="act",
    )


def make_button(visit: Visit, address: str, says: str, key: str = "", **fields: str) -> Html:
    """Returns a form that is one button."""
    hidden = [tag("input", type="hidden", name=name, value=value) for name, value in fields.items()]
    button = tag("button", says, data_key=key or None)
    return tag("form", visit.form_token(), hidden, button, method="post", action=address)


def show_places(current: str) -> Html:
    """Returns the links between the views of comments."""
    shown = (("/comments", "All"), ("/comments/doubts", "In doubt"))
    return tag(
        "p",
        [tag("a", name, href=address, aria_current="true" if address == current else None) for address, name in shown],
        class_="filters",
    )


def read_number(text: str) -> int:
    """Returns the number that an address or a form holds; 1 where it is none."""
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 9 else 1
