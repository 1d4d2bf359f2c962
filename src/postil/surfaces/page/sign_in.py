"""The page before the pages: how one gets in, and the step from a one-time address to the first view."""

from __future__ import annotations

from postil.core.call import LOCAL
from postil.surfaces.page import layout
from postil.surfaces.page.assets import read_assets
from postil.surfaces.page.markup import document, join, tag

PATH = "/open"


def show(*, is_local: bool, used: bool = False) -> bytes:
    """Returns how to get in. On a gateway it is a form for the same credential that tools bring."""
    said = "This page is for those who were let in."
    if used:
        said = "This address was used already, is too old, or newer ones took its place."
    if is_local:
        how = tag("p", "Run ", tag("code", "postil open"), " in the repository, or open the newest address that ",
                  tag("code", "postil serve"), " printed. Each address works once.")  # fmt: skip
        return layout.frame("Come in", tag("section", tag("h1", "Postil"), tag("p", said), how, class_="door"))
    form = tag(
        "form",
        tag("label", tag("span", "Your access key or token"),
            tag("input", type="password", name="credential", autocomplete="current-password", required=True)),
        tag("button", "Come in", class_="primary"),
        method="post",
        action=PATH,
        data_plain=True,
    )  # fmt: skip
    about = tag(
        "p", "It is the one that your assistant uses here. You see and change what it lets your tools see and change."
    )
    return layout.frame("Come in", tag("section", tag("h1", "Postil"), tag("p", said), about, form, class_="door"))


def confirm(token: str, whose: str) -> bytes:
    """Returns the question of a browser that was led here from another page, or that knows somebody else."""
    form = tag(
        "form",
        tag("input", type="hidden", name="token", value=token),
        tag("button", "Come in", class_="primary"),
        method="post",
        action=PATH,
        data_plain=True,
    )
    about = tag(
        "p", "This address lets this browser in as ", tag("b", "the user of this machine" if whose == LOCAL else whose),
        ". Go on only if you asked for it yourself: what you write here would be theirs.",
    )  # fmt: skip
    return layout.frame("Come in", tag("section", tag("h1", "Postil"), about, form, class_="door"))


def lead_in() -> bytes:
    """Returns the step to the first view.

    Not a redirection: a browser that came from another site would not send the new cookie along with one.
    """
    head = join(
        tag("meta", charset="utf-8"),
        tag("title", "Postil"),
        tag("meta", http_equiv="refresh", content="0;url=/"),
        tag("link", rel="stylesheet", href=read_assets()["page.css"].address),
    )
    return document(head, tag("body", tag("main", tag("p", tag("a", "Go on to Postil", href="/")))))
