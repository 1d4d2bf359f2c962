"""Issues: a list whose filter stands in the address, and what may be done with one of them."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from msgspec import Struct

from postil.core.failure import Conflict, Failure, NotAllowed, UnknownOperation
from postil.surfaces.page.layout import empty
from postil.surfaces.page.markup import Child, Html, tag
from postil.surfaces.page.router import Route
from postil.surfaces.page.views.issue_facts import Item, Listed, issue_link, places, show_facts
from postil.surfaces.page.views.issue_page import (
    Issue,
    digest,
    list_texts,
    read_seen,
    show_issue,
    show_log,
    write_seen,
)
from postil.surfaces.page.visit import Moved, Shown, Visit

PAGE = 50


class ReadyItem(Struct, frozen=True):
    """An issue that nothing blocks and nobody holds."""

    id: str
    title: str
    labels: tuple[str, ...] = ()
    priority: str = ""
    due: str = ""


class Ready(Struct, frozen=True):
    """What `git_mile_ready` answers."""

    items: tuple[ReadyItem, ...]
    blocked: int = 0


async def list_issues(visit: Visit) -> Shown:
    """Show a page of issues that a filter finds."""
    words, shows_closed = visit.query.get("q", ""), visit.query.get("closed") == "1"
    said: Child = None
    found = Listed(())
    try:
        cursor = visit.query.get("cursor") or None
        found = await visit.call(
            "git_mile_list",
            Listed,
            entity="issue",
            limit=PAGE,
            includeClosed=shows_closed,
            **{name: value for name, value in (("filter", words), ("cursor", cursor)) if value},
        )
    except (UnknownOperation, NotAllowed):  # not for this person
        raise
    except Failure as failure:  # a filter with a mistake: the form stays, with what to do
        said = tag("p", f"{failure.message} {failure.advice}".strip(), class_="fault-line", role="alert")
    more = {"q": words, "closed": "1" if shows_closed else "", "cursor": found.nextCursor or ""}
    body = tag(
        "section",
        tag("h1", "Issues"),
        places("/issues"),
        _filter_form(words, shows_closed=shows_closed),
        said,
        tag("ul", [_row(item) for item in found.items], class_="rows") if found.items else None,
        _nothing(words) if not found.items and said is None else None,
        tag("p", tag("a", "More", href="/issues?" + urlencode({k: v for k, v in more.items() if v})))
        if found.nextCursor
        else None,
        await _show_ready(visit) if not words and not visit.query.get("cursor") else None,
        _create_form(visit),
        id="issues",
        data_live="issues",
    )
    return Shown("Issues", body, "issues")


def _filter_form(words: str, *, shows_closed: bool) -> Html:
    hint = "words, or label:bug priority:high assignee:ada milestone:v1 status:open"
    return tag(
        "form",
        tag("label", tag("span", "Filter"), tag("input", name="q", value=words, type="search", placeholder=hint)),
        tag(
            "label",
            tag("input", type="checkbox", name="closed", value="1", checked=shows_closed),
            " closed too",
            class_="check",
        ),
        tag("button", "Show"),
        method="get",
        action="/issues",
        class_="filter",
        id="filter",
        role="search",
    )


def _row(item: Item) -> Html:
    return tag(
        "li",
        tag("strong", issue_link(item.id, item.title)),
        show_facts(item),
        id=f"i{item.id}",
        class_="row",
        data_stop="row",
        tabindex="-1",
    )


def _nothing(words: str) -> Html:
    if words:
        return empty("Nothing matches", tag("p", tag("a", "Show all open issues", href="/issues")))
    return empty(
        "No open issues",
        tag("p", "Write the first one below, or in a shell: ", tag("code", 'postil issue create "Title"')),
    )


async def _show_ready(visit: Visit) -> Html | None:
    """Returns what can be worked on now."""
    found = await visit.call("git_mile_ready", Ready, limit=5)
    if not found.items:
        return None
    items = [
        tag("li", issue_link(one.id, one.title), " ", tag("span", one.priority, class_="quiet")) for one in found.items
    ]
    waits = tag("p", f"{found.blocked} wait for others", class_="quiet") if found.blocked else None
    return tag("section", tag("h2", "Ready to be worked on"), tag("ol", items), waits, id="ready")


def _create_form(visit: Visit) -> Html | None:
    if not visit.offers("git_mile_create"):
        return None
    return tag(
        "details",
        tag("summary", "New issue", data_key="a", class_="button"),
        tag(
            "form",
            visit.form_token(),
            tag("label", tag("span", "Title"), tag("input", name="title", required=True, maxlength=1000)),
            tag("label", tag("span", "Description"), tag("textarea", name="description", rows=5)),
            tag("label", tag("span", "Labels, with commas between them"), tag("input", name="labels")),
            tag("button", "Create", class_="primary"),
            method="post",
            action="/issues",
            data_go=True,
        ),
        class_="act",
        id="new",
    )


async def create(visit: Visit) -> Moved:
    """Create an issue."""
    made = await visit.call(
        "git_mile_create",
        Made,
        title=visit.form.get("title", ""),
        description=visit.form.get("description", ""),
        labels=_names(visit.form.get("labels", "")),
    )
    return Moved(f"/issues/{made.id}", "Created")


class Made(Struct, frozen=True):
    """What `git_mile_create` answers."""

    id: str


def _names(text: str) -> list[str]:
    return [name for name in (piece.strip() for piece in text.split(",")) if name]


async def comment(visit: Visit, id: str) -> Moved:
    """Comment on an issue."""
    await visit.act("git_mile_comment", id=id, body=visit.form.get("body", ""))
    return Moved(f"/issues/{quote(id, safe='')}", "Said")


async def close(visit: Visit, id: str) -> Moved:
    """Close an issue, or open it again."""
    reopens = visit.form.get("act") == "reopen"
    await visit.act("git_mile_close", id=id, reopen=reopens)
    return Moved(f"/issues/{quote(id, safe='')}", "Open again" if reopens else "Closed")


async def claim(visit: Visit, id: str) -> Moved:
    """Take an issue, or give it back."""
    releases = visit.form.get("act") == "release"
    await visit.act("git_mile_claim", id=id, release=releases)
    return Moved(f"/issues/{quote(id, safe='')}", "Released" if releases else "Claimed")


async def check(visit: Visit, id: str) -> Moved:
    """Tick or clear a criterion."""
    await visit.act("git_mile_check", id=id, number=visit.form.get("number", ""), done=visit.form.get("done") == "1")
    return Moved(f"/issues/{quote(id, safe='')}", "Ticked" if visit.form.get("done") == "1" else "Cleared")


async def edit(visit: Visit, id: str) -> Moved:
    """Change what the person changed in the form, unless somebody else changed that since they saw it."""
    before = await visit.call("git_mile_show", Issue, id=id, entity="issue", limit_comments=0)
    form, seen, now = visit.form, read_seen(visit.form.get("seen", "")), list_texts(before)
    changes = {
        name: form[name]
        for name, old in now.items()
        if name in form and form[name] != old and digest(form[name]) != getattr(seen, name)
    }
    others = [name for name in changes if digest(now[name]) != getattr(seen, name)]
    had, typed = ", ".join(seen.labels), form.get("labels", ", ".join(seen.labels))
    wanted = _names(typed) if typed != had else seen.labels
    add = [name for name in wanted if name not in (*seen.labels, *before.labels)]
    remove = [name for name in seen.labels if name not in wanted and name in before.labels]
    if others:
        # Sent again, it replaces what is told here, and nothing else that others changed.
        labels = ", ".join([*(name for name in before.labels if name not in remove), *add])
        visit.form = {**form, **now, **changes, "labels": labels, "seen": write_seen(before)}
        told = "".join(f"Its {name} is now:\n{now[name]}\n" for name in others)
        raise Conflict(
            f"Somebody changed this issue meanwhile. {told}",
            advice="What you typed is still here: save it again to replace that.",
        )
    if "due" in changes and not changes["due"]:
        changes["due"] = "none"
    if changes:
        await visit.act("git_mile_update", id=id, **changes)
    if add or remove:
        await visit.act("git_mile_label", id=id, add=add, remove=remove)
    return Moved(f"/issues/{before.id}", "Saved")


async def keep_shown(visit: Visit, id: str) -> Moved:
    """Decide for the values that are shown."""
    await visit.act("issue_resolve", id=id, strategy="ours")
    return Moved(f"/issues/{quote(id, safe='')}", "Settled")


ROUTES = (
    Route("GET", "/issues", list_issues),
    Route("POST", "/issues", create),
    Route("GET", "/issues/{id}", show_issue),
    Route("GET", "/issues/{id}/log", show_log),
    Route("POST", "/issues/{id}/comment", comment),
    Route("POST", "/issues/{id}/close", close),
    Route("POST", "/issues/{id}/claim", claim),
    Route("POST", "/issues/{id}/check", check),
    Route("POST", "/issues/{id}/edit", edit),
    Route("POST", "/issues/{id}/settle", keep_shown),
)
