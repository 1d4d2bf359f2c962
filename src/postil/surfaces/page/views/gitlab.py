"""GitLab: the merge requests and pipelines of this repository, what waits for the person, and what was heard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from postil.core.failure import Failure
from postil.surfaces.page.layout import empty, when
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.router import Route
from postil.surfaces.page.views.at_gitlab.discussions import HOW_TO_CONNECT
from postil.surfaces.page.visit import Shown, Visit

ROWS = 20


class MergeRequest(Struct, frozen=True):
    """A merge request of a list."""

    iid: int | None = None
    title: str | None = None
    state: str | None = None
    draft: bool | None = None
    source_branch: str | None = None
    target_branch: str | None = None
    updated_at: str | None = None
    web_url: str | None = None


class MergeRequests(Struct, frozen=True):
    """What `list_merge_requests` answers."""

    merge_requests: tuple[MergeRequest, ...]


class Pipeline(Struct, frozen=True):
    """A pipeline of a list."""

    id: int | None = None
    status: str | None = None
    ref: str | None = None
    sha: str | None = None
    updated_at: str | None = None
    web_url: str | None = None


class Pipelines(Struct, frozen=True):
    """What `list_pipelines` answers."""

    pipelines: tuple[Pipeline, ...]


class Waiting(Struct, frozen=True):
    """What `my_work` answers."""

    reviews: tuple[MergeRequest, ...]
    merge_requests: tuple[MergeRequest, ...]


class Event(Struct, frozen=True):
    """Something that GitLab told."""

    id: str
    event: str
    received_at: str
    project: str = ""
    action: str = ""
    title: str = ""
    user: str = ""
    url: str = ""


class Events(Struct, frozen=True):
    """What `list_webhook_events` answers."""

    events: tuple[Event, ...]


async def show_gitlab(visit: Visit) -> Shown:
    """Show what concerns this repository."""
    parts: list[tuple[str, str, Callable[[Visit], Awaitable[list[Html]]]]] = [
        ("list_merge_requests", "Open merge requests", _read_merge_requests),
        ("list_pipelines", "Pipelines", _read_pipelines),
        ("my_work", "Waits for you", _read_waiting),
        ("list_webhook_events", "Heard from GitLab", _read_events),
    ]
    sections: list[Html] = []
    faults: list[Failure] = []
    for name, heading, read in parts:
        if not visit.offers(name):
            continue
        try:
            rows = await read(visit)
        except Failure as failure:
            faults.append(failure)
            continue
        shown = tag("ul", rows, class_="rows") if rows else tag("p", "Nothing.", class_="quiet")
        sections.append(tag("section", tag("h2", heading), shown, id=name))
    told = {f"{fault.message} {fault.advice}".strip(): None for fault in faults}
    body = tag(
        "section",
        tag("h1", "GitLab"),
        [tag("p", words, class_="fault-line") for words in told] if sections else None,
        sections,
        _explain(list(told)) if not sections else None,
        id="gitlab",
        data_live="gitlab",
    )
    return Shown("GitLab", body, "gitlab")


def _explain(told: list[str]) -> Html:
    return empty("GitLab is not connected", [tag("p", words) for words in told], tag("p", HOW_TO_CONNECT))


async def _read_merge_requests(visit: Visit) -> list[Html]:
    found = await visit.call("list_merge_requests", MergeRequests, state="opened", per_page=ROWS)
    reviews = visit.offers("compare_merge_request")
    return [_show_merge_request(one, reviews=reviews) for one in found.merge_requests]


def _show_merge_request(one: MergeRequest, *, reviews: bool = False) -> Html:
    name = f"!{one.iid} {one.title or ''}"
    return tag(
        "li",
        tag("strong", tag("a", name, href=one.web_url, rel="noreferrer") if one.web_url else name),
        tag("span", "draft" if one.draft else one.state or "", class_="state"),
        tag("span", f"{one.source_branch} → {one.target_branch}", class_="quiet") if one.source_branch else None,
        when(one.updated_at) if one.updated_at else None,
        tag("a", "Review", href=f"/changes?scope=%21{one.iid}", class_="button", data_key="r") if reviews else None,
        class_="row",
        data_stop="row",
        tabindex="-1",
    )


async def _read_pipelines(visit: Visit) -> list[Html]:
    found = await visit.call("list_pipelines", Pipelines, per_page=ROWS)
    return [
        tag(
            "li",
            tag("strong", tag("a", f"#{one.id}", href=one.web_url, rel="noreferrer") if one.web_url else f"#{one.id}"),
            tag("span", one.status or "", class_=f"state {one.status}"),
            tag("span", f"{one.ref or ''} {(one.sha or '')[:10]}", class_="quiet"),
            when(one.updated_at) if one.updated_at else None,
            class_="row",
            data_stop="row",
            tabindex="-1",
        )
        for one in found.pipelines
    ]


async def _read_waiting(visit: Visit) -> list[Html]:
    found = await visit.call("my_work", Waiting, per_page=ROWS)
    return [_show_merge_request(one) for one in (*found.reviews, *found.merge_requests)]


async def _read_events(visit: Visit) -> list[Html]:
    found = await visit.call("list_webhook_events", Events, limit=ROWS)
    return [
        tag(
            "li",
            tag("span", one.event, class_="kind"),
            tag("strong", tag("a", one.title, href=one.url, rel="noreferrer") if one.url else one.title),
            " ".join(word for word in (one.action, one.project, one.user and f"by {one.user}") if word),
            when(one.received_at),
            class_="row",
            id=f"e{one.id}",
            data_stop="row",
            tabindex="-1",
        )
        for one in found.events
    ]


ROUTES = (Route("GET", "/gitlab", show_gitlab),)
