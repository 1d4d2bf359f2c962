"""The views inside the assistant (MCP Apps): one document each, whole in itself, whose policy lets nothing else in.

A view gets the data of a tool's result, shows it as text and acts by calling tools through its host. What it looks
like and does is in `app_assets/`; which tools name it is in `contracts.py`.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from postil.core.content import Document
from postil.core.resource import resource

MIME_TYPE = "text/html;profile=mcp-app"
NOTHING_ELSE: dict[str, Any] = {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []}
TITLES = {
    "conversation": "Conversation",
    "review": "Comments in doubt",
    "board": "Board",
    "burndown": "Burn-down",
}


class AppViews:
    """The documents."""

    def __init__(self, operation: Callable[..., object]) -> None:
        """A view reads nothing by itself: its host calls the tools."""

    @resource("ui://postil/conversation", name="Conversation", mime_type=MIME_TYPE)
    def show_conversation(self) -> Document:
        """The remarks with their answers; reply and resolve"""
        return make_view("conversation")

    @resource("ui://postil/review", name="Comments in doubt", mime_type=MIME_TYPE)
    def show_review(self) -> Document:
        """Comments whose code is gone or uncertain, each to be decided"""
        return make_view("review")

    @resource("ui://postil/board", name="Board", mime_type=MIME_TYPE)
    def show_board(self) -> Document:
        """Issues as cards in columns, to be moved"""
        return make_view("board")

    @resource("ui://postil/burndown", name="Burn-down", mime_type=MIME_TYPE)
    def show_burndown(self) -> Document:
        """A milestone with its progress and its burn-down"""
        return make_view("burndown")


@cache
def make_view(name: str) -> Document:
    """Returns one view: script and style inside, named by their hashes in its policy."""
    script, style = (_read(file) for file in ("app.js", "app.css"))
    policy = (
        f"default-src 'none'; script-src {_name(script)}; style-src {_name(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{TITLES[name]}</title>"
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f'<style>{style}</style></head><body data-view="{name}"><main id="view" aria-live="polite"></main>'
        f'<p id="says" role="status"></p><script>{script}</script></body></html>\n'
    )
    meta = {"ui": {"csp": NOTHING_ELSE, "prefersBorder": True}}
    return Document(f"ui://postil/{name}", MIME_TYPE, text=text, meta=meta)


def _read(file: str) -> str:
    return (files("postil.flows") / "app_assets" / file).read_text("ascii").strip()


def _name(content: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
