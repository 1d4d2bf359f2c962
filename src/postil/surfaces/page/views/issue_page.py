"""One issue, whole: its facts, criteria, links, conflicts and comments, and what may be done with it."""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec import Struct

from postil.core.failure import Failure
from postil.core.others.unreadable import UNREADABLE
from postil.surfaces.page.layout import later, when
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.views.issue_facts import issue_link, label_link
from postil.surfaces.page.visit import Shown, Visit

COMMENTS = 200


class Comment(Struct, frozen=True):
    """A comment of an issue."""

    id: str
    author: str
    body: str
    ts: str
    edited_at: str = ""


class Claim(Struct, frozen=True):
    """Who works on it."""

    who: str
    until: str
    expired: bool = False


class Linked(Struct, frozen=True):
    """A link, seen from this end."""

    type: str
    id: str
    title: str
    status: str


class Differing(Struct, frozen=True):
    """A value that lost against another, written at the same time."""

    field: str
    value: str | None
    author: str
    ts: str


class Criterion(Struct, frozen=True):
    """A check box of the description."""

    number: int
    text: str
    done: bool


class Issue(Struct, frozen=True):
    """What `git_mile_show` answers."""

    id: str
    title: str
    status: str
    kind: str
    author: str
    created_at: str
    updated_at: str
    description: str | None = None
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()
    comments_omitted: int = 0
    milestone: str = ""
    due: str = ""
    links: tuple[Linked, ...] = ()
    claim: Claim | None = None
    conflicts: tuple[Differing, ...] = ()
    fields: dict[str, str] = {}
    criteria: tuple[Criterion, ...] = ()


class Seen(Struct, frozen=True):
    """What an edit began with: of texts what no other text has. What the person left as it was is not changed."""

    title: str = ""
    description: str = ""
    due: str = ""
    labels: tuple[str, ...] = ()


def list_texts(issue: Issue) -> dict[str, str]:
    """Returns the texts of an issue by the names of their fields, as a browser sends them back."""
    description = (issue.description or "").replace("\r\n", "\n").replace("\r", "\n")
    return {"title": issue.title, "description": description, "due": issue.due[:10]}


def digest(text: str) -> str:
    """Returns what no other text has."""
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def write_seen(issue: Issue) -> str:
    """Returns what the form of an edit keeps of the issue as it is shown."""
    texts = {name: digest(text) for name, text in list_texts(issue).items()}
    return msgspec.json.encode(Seen(**texts, labels=issue.labels)).decode()


def read_seen(kept: str) -> Seen:
    """Returns what an edit began with; of a form that does not say it nothing, which is no issue."""
    try:
        return msgspec.json.decode(kept, type=Seen)
    except UNREADABLE:
        return Seen()


async def show_issue(visit: Visit, id: str) -> Shown:
    """Show one issue, whole."""
    found = await visit.call("git_mile_show", Issue, id=id, entity="issue", limit_comments=COMMENTS)
    milestone = await _read_milestone(visit, found.milestone)
    body = tag(
        "section",
        tag("p", tag("a", "Issues", href="/issues"), " / ", tag("code", found.id, class_="quiet"), class_="quiet"),
        tag("h1", found.title),
        _head(found, milestone),
        _claim(found),
        tag("div", found.description, class_="said", id="description") if found.description else None,
        _criteria(visit, found),
        _links(found),
        _conflicts(visit, found),
        tag("h2", "Comments", id="comments"),
        _omitted(found.comments_omitted),
        [_comment(one) for one in found.comments],
        tag("p", "Nobody has said anything yet.", class_="quiet") if not found.comments else None,
        _acts(visit, found),
        tag("details", tag("summary", "History"), later(f"/issues/{found.id}/log", "Show it"), id="history"),
        id="issue",
        data_live="issues",
        data_stop="issue",
        tabindex="-1",
    )
    return Shown(found.title, body, "issues")


def _omitted(count: int) -> Html | None:
    return tag("p", f"{count} older ones are not shown", class_="quiet") if count else None


async def _read_milestone(visit: Visit, id: str) -> str:
    """Returns the title of an issue's milestone; of one that is not here the beginning of its id."""
    if not id:
        return ""
    try:
        return (await visit.call("git_mile_show", Issue, id=id, entity="milestone", limit_comments=0)).title
    except Failure:
        return id[:8]


def _head(issue: Issue, milestone: str) -> Html:
    fields = [issue.fields[name] for name in ("priority", "type", "estimate") if name in issue.fields]
    return tag(
        "p",
        tag("span", issue.status, class_=f"state {issue.status}"),
        [tag("span", value, class_="kind") for value in fields],
        [label_link(label) for label in issue.labels],
        tag("span", "for ", ", ".join(issue.assignees)) if issue.assignees else None,
        tag("a", milestone, href=f"/milestones/{issue.milestone}") if issue.milestone else None,
        tag("span", f"due {issue.due}") if issue.due else None,
        tag("span", issue.author, " wrote it ", when(issue.created_at), class_="quiet"),
        class_="facts",
    )


def _claim(issue: Issue) -> Html | None:
    if issue.claim is None:
        return None
    ended = " (it has ended)" if issue.claim.expired else ""
    until = when(issue.claim.until)
    return tag("p", tag("strong", issue.claim.who), f" works on it{ended}, until ", until, class_="claimed", id="claim")


def _criteria(visit: Visit, issue: Issue) -> Html | None:
    if not issue.criteria:
        return None
    done = sum(one.done for one in issue.criteria)
    return tag(
        "section",
        tag("h2", f"Acceptance criteria: {done} of {len(issue.criteria)}"),
        tag("ul", [_criterion(visit, issue.id, one) for one in issue.criteria], class_="criteria"),
        id="criteria",
    )


def _criterion(visit: Visit, id_: str, one: Criterion) -> Html:
    mark = "\u2611" if one.done else "\u2610"
    if not visit.offers("git_mile_check"):
        return tag("li", mark, " ", one.text)
    return tag(
        "li",
        tag(
            "form",
            visit.form_token(),
            tag("input", type="hidden", name="number", value=str(one.number)),
            tag(
                "button",
                mark,
                name="done",
                value="" if one.done else "1",
                aria_label=f"{'Clear' if one.done else 'Tick'} {one.text}",
            ),
            " ",
            one.text,
            method="post",
            action=f"/issues/{id_}/check",
        ),
    )


def _links(issue: Issue) -> Html | None:
    if not issue.links:
        return None
    rows = [
        tag("li", one.type, " ", issue_link(one.id, one.title), " ", tag("span", one.status, class_="state"))
        for one in issue.links
    ]
    return tag("section", tag("h2", "Links"), tag("ul", rows), id="links")


def _conflicts(visit: Visit, issue: Issue) -> Html | None:
    if not issue.conflicts:
        return None
    rows = [
        tag(
            "li",
            tag("strong", one.field),
            ": ",
            tag("q", one.value or "nothing"),
            " by ",
            one.author,
            " ",
            when(one.ts),
        )
        for one in issue.conflicts
    ]
    settle = None
    if visit.offers("issue_resolve"):
        settle = tag(
            "form",
            visit.form_token(),
            tag("button", "Keep what is shown"),
            method="post",
            action=f"/issues/{issue.id}/settle",
        )
    return tag(
        "section", tag("h2", "Written at the same time"), tag("ul", rows), settle, class_="fault-line", id="conflicts"
    )


def _comment(one: Comment) -> Html:
    return tag(
        "article",
        tag(
            "header",
            tag("strong", one.author),
            tag("span", "edited", class_="quiet") if one.edited_at else None,
            tag("a", when(one.ts), href=f"#c{one.id}", class_="quiet"),
        ),
        tag("p", one.body, class_="said"),
        class_="thread",
        id=f"c{one.id}",
    )


def _acts(visit: Visit, issue: Issue) -> Html:
    is_closed = issue.status == "closed"
    comment = tag(
        "form",
        visit.form_token(),
        tag("label", tag("span", "Comment"), tag("textarea", name="body", rows=4, required=True)),
        tag("button", "Comment", class_="primary"),
        method="post",
        action=f"/issues/{issue.id}/comment",
    )
    acts = [
        ("git_mile_comment", comment),
        ("git_mile_close", _button(visit, issue, "reopen" if is_closed else "close", "e")),
        ("git_mile_claim", _button(visit, issue, "release" if issue.claim else "claim", "w")),
        ("git_mile_update", _edit_form(visit, issue)),
    ]
    return tag("div", [form for name, form in acts if visit.offers(name)], class_="acts issue-acts", id="acts")


def _button(visit: Visit, issue: Issue, act: str, key: str) -> Html:
    return tag(
        "form",
        visit.form_token(),
        tag("button", act.capitalize(), name="act", value=act, data_key=key),
        method="post",
        action=f"/issues/{issue.id}/{'claim' if act in ('claim', 'release') else 'close'}",
    )


def _description_field(issue: Issue) -> Html:
    return tag("textarea", "\n" + (issue.description or ""), name="description", rows=10)


def _edit_form(visit: Visit, issue: Issue) -> Html:
    return tag(
        "details",
        tag("summary", "Edit", class_="button", data_key="i"),
        tag(
            "form",
            visit.form_token(),
            tag("input", type="hidden", name="seen", value=write_seen(issue), data_held=True),
            tag("label", tag("span", "Title"), tag("input", name="title", value=issue.title, required=True)),
            tag("label", tag("span", "Description"), _description_field(issue)),
            tag("label", tag("span", "Labels"), tag("input", name="labels", value=", ".join(issue.labels))),
            tag("label", tag("span", "Due"), tag("input", name="due", type="date", value=issue.due[:10])),
            tag("button", "Save", class_="primary"),
            method="post",
            action=f"/issues/{issue.id}/edit",
        ),
        class_="act",
    )


class Happened(Struct, frozen=True):
    """One event of the history."""

    ts: str
    author: str
    what: str


class History(Struct, frozen=True):
    """What `issue_log` answers."""

    events: tuple[Happened, ...]


async def show_log(visit: Visit, id: str) -> Shown:
    """Show everything that happened to an issue."""
    found = await visit.call("issue_log", History, id=id)
    rows = [tag("li", when(one.ts), " ", tag("strong", one.author), " ", one.what) for one in found.events]
    return Shown("History", tag("ol", rows, class_="history"), "issues", is_part=visit.is_part)
