"""Milestones: each with its progress; one with its burn-down and its issues."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

from postil.surfaces.page.layout import empty
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.router import Route
from postil.surfaces.page.views.issue_facts import Item, Listed, issue_link, places, show_facts
from postil.surfaces.page.visit import Sent, Shown, Visit

PAGE = 50
ISSUES = 100


class Counts(Struct, frozen=True):
    """What a milestone counts."""

    open_issues: int = 0
    closed_issues: int = 0


class Milestone(Struct, frozen=True):
    """One milestone."""

    id: str
    title: str
    status: str
    stats: Counts
    due: str = ""
    description: str | None = None


class Milestones(Struct, frozen=True):
    """What `git_mile_list` answers for milestones."""

    items: tuple[Milestone, ...]
    nextCursor: str | None = None


async def list_milestones(visit: Visit) -> Shown:
    """Show the milestones with their progress."""
    cursor = visit.query.get("cursor")
    found = await visit.call(
        "git_mile_list",
        Milestones,
        entity="milestone",
        limit=PAGE,
        includeClosed=visit.query.get("closed") == "1",
        **({"cursor": cursor} if cursor else {}),
    )
    nothing = empty(
        "No milestones", tag("p", "Make one in a shell: ", tag("code", 'postil milestone create "v1" --due 2027-01-31'))
    )
    body = tag(
        "section",
        tag("h1", "Milestones"),
        places("/milestones"),
        tag("ul", [_row(one) for one in found.items], class_="rows") if found.items else nothing,
        tag("p", tag("a", "More", href=f"/milestones?cursor={quote(found.nextCursor)}")) if found.nextCursor else None,
        tag("p", tag("a", "Closed too", href="/milestones?closed=1"), class_="quiet"),
        id="milestones",
        data_live="issues",
    )
    return Shown("Milestones", body, "issues")


def _row(one: Milestone) -> Html:
    return tag(
        "li",
        tag("strong", tag("a", one.title, href=f"/milestones/{quote(one.id, safe='')}")),
        tag("span", one.status, class_=f"state {one.status}"),
        tag("span", f"due {one.due}", class_="quiet") if one.due else None,
        _progress(one),
        id=f"i{one.id}",
        class_="row",
        data_stop="row",
        tabindex="-1",
    )


def _progress(one: Milestone) -> Html:
    closed, total = one.stats.closed_issues, one.stats.open_issues + one.stats.closed_issues
    says = f"{closed} of {total} closed" if total else "no issues yet"
    return tag(
        "span",
        tag("progress", value=str(closed), max=str(total or 1), aria_label=f"{one.title}: {says}"),
        " ",
        says,
        class_="quiet",
    )


async def show_milestone(visit: Visit, id: str) -> Shown:
    """Show one milestone with its burn-down and its issues."""
    found = await visit.call("git_mile_show", Milestone, id=id, entity="milestone", limit_comments=0)
    of_it = await visit.call(
        "git_mile_list", Listed, entity="issue", filter=f"milestone:{found.id}", limit=ISSUES, includeClosed=True
    )
    picture = None
    if visit.offers("milestone_chart"):
        address = f"/milestones/{found.id}/burndown.svg"
        picture = tag("img", src=address, alt=f"Burn-down of {found.title}", class_="chart")
    body = tag(
        "section",
        tag("p", tag("a", "Milestones", href="/milestones"), " / ", tag("code", found.id), class_="quiet"),
        tag("h1", found.title),
        tag("p", _progress(found), tag("span", f" due {found.due}") if found.due else None),
        tag("div", found.description, class_="said") if found.description else None,
        picture,
        tag("h2", "Issues"),
        tag("ul", [_issue(one) for one in of_it.items], class_="rows"),
        tag("p", f"The first {ISSUES} are shown.", class_="quiet") if of_it.nextCursor else None,
        id="milestone",
        data_live="issues",
    )
    return Shown(found.title, body, "issues")


def _issue(one: Item) -> Html:
    return tag("li", tag("strong", issue_link(one.id, one.title)), show_facts(one), class_="row")


async def draw_burndown(visit: Visit, id: str) -> Sent:
    """Send the burn-down as a picture."""
    drawn = await visit.call("milestone_chart", str, id=id, svg=True)
    return Sent(drawn.encode(), "image/svg+xml")


ROUTES = (
    Route("GET", "/milestones", list_milestones),
    Route("GET", "/milestones/{id}", show_milestone),
    Route("GET", "/milestones/{id}/burndown.svg", draw_burndown),
)
