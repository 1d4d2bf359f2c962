"""The frame around every view: head, navigation, what was said, and the foot. Also the page for what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from postil.surfaces.page.assets import read_assets
from postil.surfaces.page.markup import Child, Html, document, join, link_script, tag


class Place(NamedTuple):
    """An entry of the navigation."""

    name: str
    title: str
    address: str
    needs: str
    """The operation without which there is nothing to show."""
    key: str
    """With `g` before it, the key that leads there."""


PLACES = (
    Place("changes", "Changes", "/changes", "workspace_changes", "c"),
    Place("inbox", "Inbox", "/inbox", "inbox_list", "i"),
    Place("comments", "Comments", "/comments", "search_comments", "m"),
    Place("issues", "Issues", "/issues", "git_mile_list", "s"),
    Place("gitlab", "GitLab", "/gitlab", "list_webhook_events", "l"),
)


def frame(
    title: str,
    body: Html,
    *,
    place: str = "",
    says: Sequence[str] = (),
    undo: str = "",
    offers: Callable[[str], bool] = lambda _: False,
    serves: Callable[[str], bool] = lambda _: False,
    theme: str = "",
    form_token: Html | None = None,
    cue: Html | None = None,
) -> bytes:
    """Returns a whole page."""
    assets = read_assets()
    head = join(
        tag("meta", charset="utf-8"),
        tag("title", f"{title} · Postil" if title else "Postil"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content=theme or "light dark"),
        tag("meta", name="referrer", content="same-origin"),
        tag("link", rel="icon", href=assets["icon.svg"].address),
        tag("link", rel="stylesheet", href=assets["page.css"].address),
        link_script(assets["page.js"].address),
    )
    said: list[Child] = [tag("p", sentence) for sentence in says]
    if undo:
        button = tag("button", "Undo", title="Undo (z)")
        said.append(tag("form", form_token, button, method="post", action=undo))
    entries = [one for one in PLACES if serves(one.address) and offers(one.needs)]
    content = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag(
            "header",
            tag("a", "Postil", href="/", class_="brand"),
            tag("nav", [_link(one, place) for one in entries], aria_label="Views"),
            cue,
            tag(
                "div",
                tag("span", class_="live-state", id="live-state", title="Live updates"),
                tag("button", "Theme", type="button", id="theme", class_="quiet", hidden=True),
                tag("a", "Help", href="/help", class_="quiet button", id="help-link", title="Keys and help (?)"),
                class_="tools",
            ),
        ),
        tag("div", said, id="says", role="status", aria_live="polite"),
        tag("main", body, id="content", tabindex="-1"),
        tag("template", form_token, id="form-token") if form_token is not None else None,
        data_theme=theme or None,
    )
    return document(head, content)


def _link(one: Place, current: str) -> Html:
    return tag(
        "a",
        one.title,
        href=one.address,
        aria_current="page" if one.name == current else None,
        data_go=one.key,
        title=f"{one.title} (g {one.key})",
    )


def explain(heading: str, message: str, advice: str = "", *more: Child) -> Html:
    """Returns what is shown where something went wrong: what it was, and what to do next."""
    return tag(
        "section", tag("h1", heading), tag("p", message), tag("p", advice) if advice else None, *more, class_="fault"
    )


def when(stamp: str) -> Html:
    """Returns a moment; the script shows it in the reader's zone."""
    return tag(
        "time", stamp.replace("T", " ").removesuffix("Z") + (" UTC" if stamp.endswith("Z") else ""), datetime=stamp
    )


def later(address: str, words: str) -> Html:
    """Returns the place of a part that is read when it is unfolded; without a script it is a link."""
    return tag("div", tag("p", tag("a", words, href=address)), data_once=f"{address}?part=1")


def empty(heading: str, *what_next: Child) -> Html:
    """Returns what stands where there is nothing yet: what to do next."""
    return tag("section", tag("h2", heading), *what_next, class_="empty")
