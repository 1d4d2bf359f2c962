"""Changes: the work tree, the index, a commit, a range or a branch, to be read and remarked on.

The first files come with the page, the others when they are scrolled to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from msgspec import Struct

from postil.core.failure import InvalidArguments
from postil.surfaces.page.layout import empty
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.router import Route
from postil.surfaces.page.views.conversation import Message, Messages, show_thread
from postil.surfaces.page.views.diff_table import Hunk, show_split, show_unified
from postil.surfaces.page.visit import Moved, Shown, Visit

FIRST_LINES, FIRST_FILES = 200, 12
"""What comes with the page; the rest comes when it is scrolled to."""
MOST_AT_ONCE = 20
SCOPES = (
    ("", "All changes"),
    ("unstaged", "Not staged"),
    ("staged", "Staged"),
    ("branch", "Branch"),
    ("HEAD", "Last commit"),
)
_ESCAPED = re.compile(r"[%|\x00-\x1f\x7f]")


class File(Struct, frozen=True):
    """One file, as `workspace_changes` answers it."""

    file: str
    change: str
    added: int = 0
    removed: int = 0
    old_file: str = ""
    is_binary: bool = False


class Listing(Struct, frozen=True):
    """What `workspace_changes` answers."""

    says: str
    files: tuple[File, ...]
    version: str = ""
    more: int = 0


class FileDiff(Struct, frozen=True):
    """How one file differs."""

    file: File
    hunks: tuple[Hunk, ...] = ()
    more: int = 0
    skipped: int = 0


class Diffs(Struct, frozen=True):
    """What `workspace_diff` answers."""

    diffs: tuple[FileDiff, ...]
    version: str = ""


class Showing(Struct, frozen=True):
    """How the person looks at it."""

    scope: str
    is_split: bool

    def address(self, path: str = "/changes", **more: str) -> str:
        """Returns an address of this view."""
        fields = {"scope": self.scope, "layout": "split" if self.is_split else "", **more}
        query = urlencode({name: value for name, value in fields.items() if value})
        return f"{path}?{query}" if query else path


def _read(visit: Visit) -> Showing:
    return Showing(visit.query.get("scope", ""), visit.query.get("layout") == "split")


async def show_changes(visit: Visit) -> Shown:
    """Show what changed: the list of files, and the first of them."""
    showing = _read(visit)
    listing = await visit.call("workspace_changes", Listing, scope=showing.scope)
    messages = await _read_messages(visit)
    first = _choose_first(listing.files)
    diffs = await _read_diffs(visit, showing, first)
    shown = {one.file.file: one for one in diffs}
    sections = [
        show_file(visit, showing, listing.version, shown[one.file], messages)
        if one.file in shown
        else _show_later(showing, one, listing.version)
        for one in listing.files
    ]
    body = tag(
        "div",
        _show_head(showing, listing),
        _show_list(listing) if listing.files else None,
        tag("div", sections, id="files") if sections else _show_nothing(showing),
        _show_form(visit) if visit.offers("inbox_send") else None,
        _show_drafts(visit, messages),
        id="changes",
        class_="changes",
        data_live="changes inbox",
        data_version=listing.version,
    )
    return Shown(listing.says, body, "changes")


async def show_files(visit: Visit) -> Shown:
    """Show some files: those that were scrolled to."""
    showing = _read(visit)
    files = visit.every("f")[:MOST_AT_ONCE]
    if not files:
        raise InvalidArguments("No file was named", advice="Open the changes")
    skip = int(visit.query["skip"]) if visit.query.get("skip", "").isdigit() else 0
    found = await visit.call("workspace_diff", Diffs, files=files, scope=showing.scope, skip=skip)
    messages = await _read_messages(visit)
    body = tag("div", [show_file(visit, showing, found.version, one, messages) for one in found.diffs])
    return Shown(", ".join(files)[:200], body, "changes", is_part=visit.query.get("part") == "1")


def _choose_first(files: Sequence[File]) -> list[str]:
    chosen: list[str] = []
    lines = 0
    for one in files[:FIRST_FILES]:
        lines += one.added + one.removed + 6
        if chosen and lines > FIRST_LINES:
            break
        chosen.append(one.file)
    return chosen


async def _read_messages(visit: Visit) -> tuple[Message, ...]:
    if not visit.offers("inbox_list"):
        return ()
    return (await visit.call("inbox_list", Messages, all=True)).messages


async def _read_diffs(visit: Visit, showing: Showing, files: Sequence[str]) -> tuple[FileDiff, ...]:
    if not files:
        return ()
    return (await visit.call("workspace_diff", Diffs, files=files, scope=showing.scope)).diffs


# -- the parts of the page ---------------------------------------------------------------------------------------------


def _show_head(showing: Showing, listing: Listing) -> Html:
    added, removed = sum(one.added for one in listing.files), sum(one.removed for one in listing.files)
    count = len(listing.files) + listing.more
    chosen = [
        tag(
            "a",
            title,
            href=Showing(scope, showing.is_split).address(),
            aria_current="true" if scope == showing.scope else None,
        )
        for scope, title in SCOPES
    ]
    other = tag(
        "form",
        tag("input", type="hidden", name="layout", value="split") if showing.is_split else None,
        tag(
            "input",
            name="scope",
            value=showing.scope,
            placeholder="commit, A..B, A...B",
            aria_label="Commit or range",
            size=24,
        ),
        tag("button", "Show"),
        method="get",
        action="/changes",
        data_plain=True,
    )
    turned = Showing(showing.scope, not showing.is_split).address()
    return tag(
        "header",
        tag("h1", listing.says),
        tag("p", f"{count} {'file' if count == 1 else 'files'} ", tag("ins", f"+{added}"), " ",
            tag("del", f"-{removed}"), f", {listing.more} of them not listed" if listing.more else None,
            class_="counts"),
        tag("div", tag("nav", chosen, aria_label="What to compare", class_="filters"), other,
            tag("a", "Unified" if showing.is_split else "Side by side", href=turned, class_="button", data_key="u"),
            class_="bar"),
        class_="top",
    )  # fmt: skip


def _show_list(listing: Listing) -> Html:
    rows = [
        tag("li", tag("a", one.file, href=f"#{quote(one.file)}"), " ", _counts(one), class_=one.change)
        for one in listing.files
    ]
    return tag(
        "details", tag("summary", "Files"), tag("ol", rows, class_="list"), class_="files-list", open=len(rows) <= 30
    )


def _counts(one: File) -> Html:
    if one.is_binary:
        return tag("span", "binary", class_="quiet")
    return tag("span", tag("ins", f"+{one.added}"), " ", tag("del", f"-{one.removed}"), class_="counts")


def _show_nothing(showing: Showing) -> Html:
    if showing.scope:
        return empty("Nothing changed there", tag("p", "Choose other versions above."))
    return empty(
        "Everything is committed",
        tag("p", "Look at the ", tag("a", "last commit", href="/changes?scope=HEAD"), " or the ",
            tag("a", "branch", href="/changes?scope=branch"), ". What changes here appears by itself."),
    )  # fmt: skip


def _show_later(showing: Showing, one: File, version: str) -> Html:
    """Returns the place of a file that is not read yet; without a script it is a link."""
    source = showing.address("/changes/files", f=one.file)
    return _section(
        showing,
        one,
        version,
        tag("p", tag("a", "Show this file", href=source)),
        data_lazy=True,
        data_lines=min(one.added + one.removed + 6, 2_000),
    )


def show_file(visit: Visit, showing: Showing, version: str, diff: FileDiff, messages: Sequence[Message]) -> Html:
    """Returns one file with its lines, and under them what was said."""
    one = diff.file
    about = [message for message in messages if message.file == one.file and _belongs(message, version)]
    waiting = {message.id: message for message in about}

    def under(side: str, number: int) -> list[Html]:
        here = [message for message in waiting.values() if _place(message, version) == (side, number)]
        for message in here:
            del waiting[message.id]
        return [show_thread(visit, message) for message in here]

    table = (show_split if showing.is_split else show_unified)(one.file, diff.hunks, under) if diff.hunks else None
    above = [show_thread(visit, message) for message in waiting.values() if not diff.skipped]
    return _section(
        showing,
        one,
        version,
        tag("div", above, class_="said-row") if above else None,
        table if table is not None else tag("p", _why_empty(one), class_="quiet"),
        _show_more(showing, diff) if diff.more else None,
    )


def _show_more(showing: Showing, diff: FileDiff) -> Html:
    after = diff.skipped + sum(len(hunk.lines) for hunk in diff.hunks)
    address = showing.address("/changes/files", f=diff.file.file, skip=str(after))
    return tag("p", tag("a", f"{diff.more} lines more", href=address, data_more=True))


def _section(showing: Showing, one: File, version: str, *inside: Html | None, **more: str | int | bool | None) -> Html:
    was = tag("span", f"was {one.old_file}", class_="quiet") if one.old_file else None
    head = tag(
        "summary",
        tag("b", one.file),
        " ",
        tag("span", one.change, class_=f"change {one.change}"),
        was,
        " ",
        _counts(one),
    )
    return tag(
        "section",
        tag("details", head, *inside, open=True),
        class_="file",
        id=quote(one.file),
        data_src=showing.address("/changes/files", f=one.file, part="1"),
        data_file=one.file,
        **more,
    )


def _why_empty(one: File) -> str:
    if one.is_binary:
        return "A binary file: its content is not shown."
    return "Its content did not change." if one.change in ("renamed", "type", "copied") else "There is nothing to show."


def _belongs(message: Message, version: str) -> bool:
    """Returns whether a message is shown with these versions: a closed one only where it was written."""
    if version and ".." in version:
        return not message.commit or version.endswith(message.commit)
    return not message.is_closed or message.replies != ()


def _place(message: Message, version: str) -> tuple[str, int]:
    """Returns the side and the line that a message stands under now; line 0 where it has none."""
    if message.side == "old":
        return "L", _last(message.line)
    there = bool(message.commit) and version.endswith(message.commit)
    if there or message.anchor is None or message.anchor.state == "unknown":
        return "R", _last(message.line)
    return "R", _last(message.anchor.line)


def _last(line: str) -> int:
    last = line.rpartition("-")[2]
    return int(last) if last.isdigit() else 0


def _show_form(visit: Visit) -> Html:
    """Returns the form for a remark, which the script puts under the lines it is about."""
    kinds = [
        tag("option", words, value=kind)
        for kind, words in (("fix", "Fix it"), ("question", "Question"), ("note", "Note"))
    ]
    form = tag(
        "form",
        visit.form_token(),
        [tag("input", type="hidden", name=name) for name in ("file", "line", "side", "version")],
        tag("p", tag("b", class_="about"), " ", tag("select", kinds, name="kind", aria_label="What is wanted")),
        tag("textarea", name="comment", rows=4, required=True, aria_label="Your remark", placeholder="Your remark"),
        tag("details", tag("summary", "Suggest other text"), tag("textarea", name="suggest", rows=4, disabled=True,
            aria_label="The text to put in place of the lines"), class_="suggest"),
        tag("div", tag("button", "Keep as draft", class_="primary", name="act", value="draft"),
            tag("button", "Send now", name="act", value="now"),
            tag("button", "Cancel", type="button", data_cancel=True), class_="acts"),
        method="post",
        action="/changes/remark",
    )  # fmt: skip
    return tag("template", form, id="remark-form")


def _show_drafts(visit: Visit, messages: Sequence[Message]) -> Html:
    drafts = [one for one in messages if one.state == "draft"]
    if not drafts or not visit.offers("inbox_submit"):
        return tag("div", id="send")
    count = len(drafts)
    form = tag(
        "form",
        visit.form_token(),
        tag("label", tag("span", f"{count} {'draft' if count == 1 else 'drafts'}"),
            tag("textarea", name="summary", rows=1, placeholder="What you say of the whole (may be empty)")),
        tag("button", "Send all", class_="primary", data_key="s"),
        method="post",
        action="/changes/send",
        id="send-form",
    )  # fmt: skip
    return tag("div", form, id="send", class_="send")


# -- changing ----------------------------------------------------------------------------------------------------------


async def remark(visit: Visit) -> Moved:
    """Keep a remark about lines as a draft, or send it."""
    form = visit.form
    file, line, version = form.get("file", ""), form.get("line", ""), form.get("version", "")
    where = ("-" if form.get("side") == "L" else "") + line if line else "file"
    at = f"{_ESCAPED.sub(lambda found: f'%{ord(found[0]):02X}', file)}:{where}" + (f" @{version}" if version else "")
    is_now = form.get("act") == "now"
    await visit.act(
        "inbox_send",
        comment=form.get("comment", ""),
        at=at,
        kind=form.get("kind") or "fix",
        draft=not is_now,
        now=is_now,
        **({"suggest": form["suggest"]} if "suggest" in form else {}),
    )
    return Moved("/changes", "Sent" if is_now else "Kept as a draft: send all when you are through")


async def send_all(visit: Visit) -> Moved:
    """Send all drafts as one review."""
    await visit.act("inbox_submit", summary=visit.form.get("summary", ""))
    return Moved("/inbox", "Your review is on its way")


ROUTES = (
    Route("GET", "/changes", show_changes),
    Route("GET", "/changes/files", show_files),
    Route("POST", "/changes/remark", remark),
    Route("POST", "/changes/send", send_all),
)
