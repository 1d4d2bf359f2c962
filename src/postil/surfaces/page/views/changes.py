"""Changes: the work tree, the index, a commit, a range, a branch or a merge request, to be read and remarked on.

The first files come with the page, the others when they are scrolled to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct, structs

from postil.core.failure import Failure, InvalidArguments, NotFound
from postil.surfaces.page.layout import empty
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.router import Route
from postil.surfaces.page.views.at_gitlab.discussions import (
    HOW_TO_CONNECT,
    answer_discussion,
    comment_on_lines,
    is_merge_request,
    read_discussions,
    show_discussion,
)
from postil.surfaces.page.views.changed_file import (
    File,
    FileDiff,
    Showing,
    is_reviewed,
    show_counts,
    show_file,
    show_later,
)
from postil.surfaces.page.views.conversation import Message, Messages, show_thread
from postil.surfaces.page.views.diff_table import name_file
from postil.surfaces.page.views.requested.asked_review import (
    Asked,
    read_request,
    show_asked,
    show_elsewhere,
    show_verdict,
)
from postil.surfaces.page.visit import Moved, Sent, Shown, Visit
from postil.workspace.changes.changed_files import is_comment_file, tell_comment_files

FIRST_LINES, FIRST_FILES = 100, 12
"""What comes with the page; the rest comes when it is scrolled to."""
MOST_AT_ONCE = 20
MOST_ELSEWHERE = 20
MOST_MESSAGES = 200
"""Conversations about the files that are shown at once; the inbox has all."""
KEPT = 60
"""Seconds for which the changes of a merge request are not asked for again: GitLab tells when there are others."""
SCOPES = (
    ("", "All changes"),
    ("unstaged", "Not staged"),
    ("staged", "Staged"),
    ("branch", "Branch"),
    ("HEAD", "Last commit"),
)
_ESCAPED = re.compile(r"[%|\x00-\x1f\x7f]")


class Mark(Struct, frozen=True):
    """A file that was reviewed, and in which version."""

    file: str
    content: str


class Marks(Struct, frozen=True):
    """What `inbox_reviewed` answers."""

    files: tuple[Mark, ...]


class Listing(Struct, frozen=True):
    """What `workspace_changes` answers."""

    says: str
    files: tuple[File, ...]
    version: str = ""
    more: int = 0
    web_url: str = ""
    comment_files: int = 0
    comments_since: str = ""


class Picture(Struct, frozen=True):
    """What `workspace_picture` answers."""

    kind: str
    data: bytes


class Diffs(Struct, frozen=True):
    """What `workspace_diff` answers."""

    diffs: tuple[FileDiff, ...]
    version: str = ""


async def _read(visit: Visit) -> tuple[Showing, Asked | None]:
    """Returns how the person looks at it, and the review that an assistant asks for, if that is looked at."""
    is_split, number = visit.query.get("layout") == "split", visit.number("request")
    if not number:
        scope = visit.query.get("scope", "").strip()
        if is_merge_request(scope) and not visit.offers("compare_merge_request"):
            raise NotFound(f"{scope} would be a merge request, and none is shown here", advice=HOW_TO_CONNECT)
        said = await read_discussions(visit, scope) if is_merge_request(scope) else ()
        return Showing(scope, is_split, discussions=said), None
    asked = await read_request(visit, number)
    return Showing(asked.scope, is_split, asked.id, asked.notes), asked


async def _list_files(visit: Visit, showing: Showing, marks: dict[str, str]) -> Listing:
    if showing.is_merge_request:
        asked = {"merge_request_iid": showing.scope, "cache": True, "cache_ttl": KEPT}
        return leave_out_comment_files(await visit.call("compare_merge_request", Listing, **asked), showing)
    # Only marks need the names of all contents; those of the files that are shown come with their lines.
    return await visit.call("workspace_changes", Listing, scope=showing.scope, content=bool(marks))


def leave_out_comment_files(listing: Listing, showing: Showing) -> Listing:
    """Returns the files of a merge request without those that hold comments, unless somebody discusses one there."""
    discussed = {one.place[0] for one in showing.discussions}
    files = tuple(one for one in listing.files if one.file in discussed or not is_comment_file(one.file))
    base, _, head = listing.version.partition("..")
    left_out = len(listing.files) - len(files)
    return structs.replace(listing, files=files, comment_files=left_out, comments_since=base[:12] if head else "")


async def _has_commits(visit: Visit, version: str) -> bool:
    """Returns whether a remark can name these commits: those of a merge request may not be fetched."""
    base, _, head = version.partition("..")
    if not head or not visit.offers("workspace_changes"):
        return False
    try:
        await visit.call("workspace_changes", Listing, scope=f"{base}..{base}")
        await visit.call("workspace_changes", Listing, scope=f"{head}..{head}")
    except Failure:
        return False
    return True


async def show_changes(visit: Visit) -> Shown:
    """Show what changed: the list of files, and the first of them."""
    showing, asked = await _read(visit)
    marks = await _read_marks(visit, showing)
    try:
        listing, first, diffs = await _read_first(visit, showing, marks)
    except NotFound:  # a file went between the list and its lines: look again, once
        listing, first, diffs = await _read_first(visit, showing, marks)
    found = await _read_messages(visit, files=first, all=True) if first else Messages(())
    messages = found.messages
    others = await _read_messages(visit, besides=[one.file for one in listing.files], limit=MOST_ELSEWHERE)
    shown = {one.file.file: one for one in diffs.diffs}
    sections = [
        show_file(visit, showing, listing.version, shown[one.file], messages, marks)
        if one.file in shown
        else show_later(visit, showing, one, marks)
        for one in listing.files
    ]
    body = tag(
        "div",
        _show_head(showing, listing, sum(is_reviewed(one, marks) for one in listing.files)),
        show_asked(asked) if asked is not None else None,
        _show_list(listing) if listing.files else None,
        tag("div", sections, id="files") if sections else _show_nothing(showing),
        _show_unread(found),
        _show_elsewhere(visit, showing, listing, others, asked),
        await _show_form(visit, showing, listing),
        _show_drafts(visit, others.drafts)
        if asked is None or not asked.is_open
        else show_verdict(visit, asked, await _read_drafts(visit)),
        id="changes",
        class_="changes",
        data_live="gitlab inbox" if showing.is_merge_request else "changes inbox",
        data_version=listing.version,
    )
    return Shown(listing.says, body, "changes")


async def show_files(visit: Visit) -> Shown:
    """Show some files: those that were scrolled to."""
    showing, _ = await _read(visit)
    files = visit.every("f")[:MOST_AT_ONCE]
    if not files:
        raise InvalidArguments("No file was named", advice="Open the changes")
    try:
        found = await _read_diffs(visit, showing, files, visit.number("skip"))
    except NotFound:  # one of them is as it was again: the others are shown
        there = {one.file for one in (await _list_files(visit, showing, {})).files}
        files = [file for file in files if file in there]
        if not files:
            raise
        found = await _read_diffs(visit, showing, files, visit.number("skip"))
    said, marks = await _read_messages(visit, files=files, all=True), await _read_marks(visit, showing)
    body = tag(
        "div",
        [show_file(visit, showing, found.version, one, said.messages, marks) for one in found.diffs],
        _show_unread(said),
    )
    return Shown(", ".join(files)[:200], body, "changes", is_part=visit.is_part)


async def _read_first(visit: Visit, showing: Showing, marks: dict[str, str]) -> tuple[Listing, list[str], Diffs]:
    """Returns the files that changed, which of them come with the page, and their lines."""
    listing = await _list_files(visit, showing, marks)
    first = _choose_first([one for one in listing.files if not is_reviewed(one, marks)])
    return listing, first, await _read_diffs(visit, showing, first)


def _choose_first(files: Sequence[File]) -> list[str]:
    chosen: list[str] = []
    lines = 0
    for one in files[:FIRST_FILES]:
        lines += one.added + one.removed + 6
        if chosen and lines > FIRST_LINES:
            break
        chosen.append(one.file)
    return chosen


async def _read_messages(visit: Visit, *, limit: int = MOST_MESSAGES, **which: object) -> Messages:
    """Returns conversations, the oldest first, with how many older ones there are."""
    if not visit.offers("inbox_find"):
        return Messages(())
    found = await visit.call("inbox_find", Messages, limit=limit, **which)
    return structs.replace(found, messages=found.messages[::-1])


async def _read_drafts(visit: Visit) -> tuple[Message, ...]:
    return (await visit.call("inbox_list", Messages, drafts=True)).messages if visit.offers("inbox_list") else ()


async def _read_marks(visit: Visit, showing: Showing) -> dict[str, str]:
    if not visit.offers("inbox_reviewed"):
        return {}
    before = showing.name_mark("")
    marks = (await visit.call("inbox_reviewed", Marks)).files
    return {mark.file[len(before) :]: mark.content for mark in marks if mark.file.startswith(before)}


async def _read_diffs(visit: Visit, showing: Showing, files: Sequence[str], skip: int = 0) -> Diffs:
    if not files:
        return Diffs(())
    if showing.is_merge_request:
        asked = {"merge_request_iid": showing.scope, "cache": True, "cache_ttl": KEPT}
        return await visit.call("compare_merge_request", Diffs, files=files, skip=skip, **asked)
    return await visit.call("workspace_diff", Diffs, files=files, scope=showing.scope, skip=skip)


# -- the parts of the page ---------------------------------------------------------------------------------------------


def _show_head(showing: Showing, listing: Listing, reviewed: int) -> Html:
    added, removed = sum(one.added for one in listing.files), sum(one.removed for one in listing.files)
    count = len(listing.files) + listing.more
    chosen = [
        tag(
            "a",
            title,
            href=Showing(scope, showing.is_split).address(),
            aria_current="true" if scope == showing.scope and not showing.request else None,
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
            placeholder="commit, A..B, A...B, !12",
            aria_label="Commit, range or merge request",
            size=24,
        ),
        tag("button", "Show"),
        method="get",
        action="/changes",
        data_plain=True,
    )
    turned = Showing(showing.scope, not showing.is_split, showing.request).address()
    return tag(
        "header",
        tag("h1", listing.says),
        tag("p", f"{count} {'file' if count == 1 else 'files'} ", tag("ins", f"+{added}"), " ",
            tag("del", f"-{removed}"), f", {listing.more} of them not listed" if listing.more else None,
            f", {reviewed} reviewed" if reviewed else None,
            class_="counts"),
        _show_comment_files(listing),
        tag("div", tag("nav", chosen, aria_label="What to compare", class_="filters"), other,
            tag("a", "Unified" if showing.is_split else "Side by side", href=turned, class_="button", data_key="u"),
            tag("a", "At GitLab", href=listing.web_url, rel="noreferrer") if listing.web_url else None,
            class_="bar"),
        class_="top",
    )  # fmt: skip


def _show_comment_files(listing: Listing) -> Html | None:
    """Returns how many comment files changed: they are left out, since nobody remarks on their JSON."""
    if not listing.comment_files:
        return None
    how = f"postil comments diff {listing.comments_since}".strip()
    return tag(
        "p",
        f"{tell_comment_files(listing.comment_files)} changed, too: ",
        tag("code", how),
        " tells what was said in them.",
        class_="quiet comment-files",
    )


def _show_list(listing: Listing) -> Html:
    rows = [
        tag("li", tag("a", one.file, href=f"#{name_file(one.file)}"), " ", show_counts(one), class_=one.change)
        for one in listing.files
    ]
    return tag(
        "details", tag("summary", "Files"), tag("ol", rows, class_="list"), class_="files-list", open=len(rows) <= 30
    )


def _show_nothing(showing: Showing) -> Html:
    if showing.scope:
        return empty("Nothing changed there", tag("p", "Choose other versions above."))
    return empty(
        "Everything is committed",
        tag("p", "Look at the ", tag("a", "last commit", href="/changes?scope=HEAD"), " or the ",
            tag("a", "branch", href="/changes?scope=branch"), ". What changes here appears by itself."),
    )  # fmt: skip


def _show_unread(said: Messages) -> Html | None:
    """Returns that there are more conversations about these files than are shown."""
    return tag("p", f"{said.more} older conversations about these files are in the ",
               tag("a", "inbox", href="/inbox?closed=1"), class_="quiet") if said.more else None  # fmt: skip


def _show_elsewhere(
    visit: Visit, showing: Showing, listing: Listing, others: Messages, asked: Asked | None
) -> Html | None:
    """Returns the conversations about what is not in this diff: a file that is as it was again, or the whole."""
    threads = show_elsewhere(asked, {one.file for one in listing.files}) if asked is not None else []
    threads += [show_discussion(visit, showing.scope, one) for one in showing.discussions if not one.place[0]]
    threads += [show_thread(visit, one, full=True) for one in others.messages]
    if not threads:
        return None
    more = tag("p", tag("a", f"{others.more} more", href="/inbox")) if others.more else None
    return tag("section", tag("h2", "About what is not in these changes"), threads, more, id="elsewhere")


async def show_picture(visit: Visit) -> Sent:
    """Show a picture that changed, on one side."""
    showing, _ = await _read(visit)
    found = await visit.call(
        "workspace_picture",
        Picture,
        file=visit.query.get("f", ""),
        scope=showing.scope,
        side=visit.query.get("side", "new"),
    )
    return Sent(found.data, found.kind)


async def _show_form(visit: Visit, showing: Showing, listing: Listing) -> Html | None:
    """Returns the form for a remark, which the script puts under the lines it is about."""
    acts: list[tuple[str, str]] = []
    if visit.offers("inbox_send") and (not showing.is_merge_request or await _has_commits(visit, listing.version)):
        acts += [("draft", "Keep as draft"), ("now", "Send now")]
    if showing.is_merge_request and visit.offers("comment_on_merge_request"):
        acts.append(("gitlab", "Comment at GitLab"))
    if not acts:
        return None
    kinds = [
        tag("option", words, value=kind)
        for kind, words in (("fix", "Fix it"), ("question", "Question"), ("note", "Note"))
    ]
    form = tag(
        "form",
        visit.form_token(),
        [tag("input", type="hidden", name=name) for name in ("file", "line", "side", "version")],
        tag("input", type="hidden", name="request", value=str(showing.request)) if showing.request else None,
        tag("input", type="hidden", name="scope", value=showing.scope),
        tag("p", tag("b", class_="about"), " ", tag("select", kinds, name="kind", aria_label="What is wanted")),
        tag("textarea", name="comment", rows=4, required=True, aria_label="Your remark", placeholder="Your remark"),
        tag("details", tag("summary", "Suggest other text"), tag("textarea", name="suggest", rows=4, disabled=True,
            aria_label="The text to put in place of the lines"), class_="suggest"),
        tag("div", [tag("button", words, class_=None if at else "primary", name="act", value=act)
            for at, (act, words) in enumerate(acts)],
            tag("button", "Cancel", type="button", data_cancel=True), class_="acts"),
        method="post",
        action="/changes/remark",
    )  # fmt: skip
    return tag("template", form, id="remark-form")


def _show_drafts(visit: Visit, count: int) -> Html:
    if not count or not visit.offers("inbox_submit"):
        return tag("div", id="send")
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
    address = Showing(form.get("scope", ""), False, _number(form.get("request", ""))).address()
    if form.get("act") == "gitlab":
        return Moved(address, await comment_on_lines(visit))
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
        request=_number(form.get("request", "")),
        **({"suggest": form["suggest"]} if "suggest" in form else {}),
    )
    return Moved(address, "Sent" if is_now else "Kept as a draft: send all when you are through")


async def discuss(visit: Visit) -> Moved:
    """Answer a discussion of a merge request, or settle it."""
    address = Showing(visit.form.get("scope", ""), False).address()
    return Moved(address, await answer_discussion(visit))


async def mark_reviewed(visit: Visit) -> Moved:
    """Mark a file as reviewed, or take the mark away."""
    file, content = visit.form.get("file", ""), visit.form.get("content", "")
    await visit.act("inbox_mark_reviewed", file=file, content=content)
    return Moved("/changes", f"{file} reviewed" if content else f"{file} not reviewed")


async def send_all(visit: Visit) -> Moved:
    """Send all drafts as one review."""
    await visit.act("inbox_submit", summary=visit.form.get("summary", ""))
    return Moved("/inbox", "Your review is on its way")


async def finish_review(visit: Visit) -> Moved:
    """Answer a review that was asked for: the verdict, with all drafts."""
    number = _number(visit.form.get("id", ""))
    verdict, summary = visit.form.get("verdict", ""), visit.form.get("summary", "")
    await visit.act("inbox_review", id=number, verdict=verdict, summary=summary)
    return Moved(f"/changes?request={number}", "Your review is on its way")


async def dismiss_review(visit: Visit) -> Moved:
    """End a review that was asked for without one."""
    number = _number(visit.form.get("id", ""))
    await visit.act("inbox_dismiss", id=number)
    return Moved("/inbox", f"Review {number} dismissed")


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0


ROUTES = (
    Route("GET", "/changes", show_changes),
    Route("GET", "/changes/files", show_files),
    Route("POST", "/changes/remark", remark),
    Route("GET", "/changes/picture", show_picture),
    Route("POST", "/changes/reviewed", mark_reviewed),
    Route("POST", "/changes/send", send_all),
    Route("POST", "/changes/review", finish_review),
    Route("POST", "/changes/dismiss", dismiss_review),
    Route("POST", "/changes/discussion", discuss),
)
