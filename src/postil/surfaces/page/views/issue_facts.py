"""Issues as the page reads them, and the small pieces that its lists, board and milestones show alike."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

from postil.surfaces.page.markup import Html, tag


class Item(Struct, frozen=True):
    """One issue or milestone of a list."""

    id: str
    title: str
    status: str
    labels: tuple[str, ...] = ()
    milestone: str = ""
    due: str = ""
    priority: str = ""
    type: str = ""
    claimed_by: str = ""
    conflicts: int = 0


class Listed(Struct, frozen=True):
    """What `git_mile_list` answers."""

    items: tuple[Item, ...]
    nextCursor: str | None = None


def issue_link(id_: str, title: str) -> Html:
    """Returns a link to an issue."""
    return tag("a", title or "(no title)", href=f"/issues/{quote(id_, safe='')}")


def show_facts(item: Item) -> list[Html | None]:
    """Returns what is said of an issue beside its title."""
    return [
        tag("span", item.status, class_=f"state {item.status}"),
        tag("span", item.priority, class_="kind") if item.priority else None,
        tag("span", item.type, class_="kind") if item.type else None,
        tag("span", [label_link(label) for label in item.labels]) if item.labels else None,
        tag("span", f"due {item.due}", class_="quiet") if item.due else None,
        tag("span", f"claimed by {item.claimed_by}", class_="kind claimed") if item.claimed_by else None,
        tag("span", "conflict", class_="anchor drifted") if item.conflicts else None,
    ]


def label_link(label: str) -> Html:
    """Returns a label that leads to the issues which bear it."""
    words = label.replace("\\", "\\\\").replace('"', '\\"')
    return tag("a", label, href="/issues?q=" + quote(f'label:"{words}"'), class_="label")


def places(current: str) -> Html:
    """Returns the links between the views of the tracker."""
    shown = (("/issues", "List"), ("/board", "Board"), ("/milestones", "Milestones"))
    return tag(
        "p",
        [tag("a", name, href=address, aria_current="true" if address == current else None) for address, name in shown],
        class_="filters",
    )
