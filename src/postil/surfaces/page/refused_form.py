"""A form that was refused, shown again with what was typed: without the script there is no page to go back to."""

from __future__ import annotations

from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.visit import Visit

LONG = {
    "text": "Text",
    "body": "Text",
    "comment": "Comment",
    "suggest": "Suggested code",
    "description": "Description",
    "summary": "Summary",
}
"""What people type at length, by the names of the fields, with the words that stand above them."""
SHORT = {"title": "Title", "labels": "Labels", "due": "Due", "line": "Line"}


def show_again(visit: Visit) -> Html | None:
    """Returns the form that was refused. What nobody typed goes along unseen."""
    if not visit.form:
        return None
    fields = [_show_field(name, value) for name, value in visit.form.items()]
    button = tag("button", "Send again")
    return tag("form", visit.form_token(), fields, button, method="post", action=visit.path, class_="again")


def _show_field(name: str, value: str) -> Html:
    if name in LONG:
        area = tag("textarea", "\n" + value, name=name, rows=min(12, value.count("\n") + 2))
        return tag("label", tag("span", LONG[name]), area)
    if name in SHORT:
        return tag("label", tag("span", SHORT[name]), tag("input", name=name, value=value))
    return tag("input", type="hidden", name=name, value=value)
