"""Every view, looked at by axe-core in light and dark: no serious finding. Also the pictures of docs/page/."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Frame, Page, expect

from tests.needs import ROOT, needs_package
from tests.surfaces.page.pages import PATIENCE, ServedPage, browse, wait_until_live

expect.set_options(timeout=PATIENCE)
VIEWS = (
    "/changes", "/changes?layout=split", "/inbox", "/inbox?closed=1", "/inbox/1", "/help", "/inbox/999", "/issues",
    "/issues?q=label%3A", "/board", "/milestones", "/comments", "/comments/file?file=greet.py", "/comments/doubts",
    "/gitlab", "/changes?request=4",
)  # fmt: skip
"""The addresses of every view; a view that is added stands here too."""
PICTURES = {"/changes": "changes", "/inbox": "inbox", "/changes?request=4": "review"}
GRAVE = ("serious", "critical")
OF_COLOURS = ("color-contrast", "link-in-text-block")
"""The rules that another colour scheme may break; all others ask about the document, which is the same."""
SCHEMES: tuple[tuple[Literal["light", "dark"], Sequence[str]], ...] = (("light", ()), ("dark", OF_COLOURS))


def find_faults(page: Page | Frame, axe: str, rules: Sequence[str] = ()) -> list[str]:
    """What axe-core finds grave on this page, by all its rules or by these."""
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found: dict[str, Any] = page.evaluate(f"{axe}; axe.run(document, {json.dumps(options)})")
    return [
        f"{page.url} {fault['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for fault in found["violations"]
        if fault["impact"] in GRAVE
        for node in fault["nodes"][:3]
    ]


def begin(served: ServedPage) -> None:
    """A conversation to look at: one remark with a suggestion and an answer, one draft, one that is closed."""
    from tests.surfaces.programs import run

    def send(*words: str) -> None:
        done = run("postil", "inbox", *words, cwd=served.folder, XDG_STATE_HOME=str(served.folder.parent / "state"))
        assert done.returncode == 0, done.stderr

    send("send", "-f", "greet.py", "-l", "2", "-c", "Say hello, as before", "--suggest", '    return "hello " + name')
    send("send", "-f", "new.txt", "-l", "1", "-c", "What is this file for?", "--kind", "question")
    served.call("check_lazygit_messages")
    served.call("inbox_reply", id=1, text="It was changed for the formal letters.\nShall I add a setting?")
    served.call("inbox_resolve", id=2, reply="For the tests")
    send("send", "-f", "greet.py", "-l", "5", "-c", "And a name for this one", "--draft")
    notes = ["greet.py:2: Is this too formal for a first greeting?"]
    served.call("request_review", summary="The greeting is polite now", notes=notes, seconds=0)


def plan(served: ServedPage) -> tuple[str, ...]:
    """Issues and comments to look at. Returns the addresses of one issue and one milestone."""
    mile = served.call("git_mile_create", entity="milestone", title="v1", due="2030-01-31")["id"]
    text = "Say who is meant\n\n- [ ] one\n- [x] two"
    one = served.call(
        "git_mile_create", title="Greet", labels=["bug"], milestone=mile, priority="high", description=text
    )
    served.call("git_mile_comment", id=one["id"], body="I look into it")
    served.call("git_mile_claim", id=one["id"], who="robot")
    served.call("add_comment", filePath="greet.py", line=2, text="Why so?", tag="NOTE")
    served.call("add_comment", filePath="new.txt", line=1, text="Its line will go")
    (served.folder / "new.txt").write_text("nothing of it\n")
    return f"/issues/{one['id']}", f"/milestones/{mile}"


def test_no_view_has_a_grave_fault_in_light_or_dark(browser: Browser, served: ServedPage) -> None:
    axe = (needs_package("axe-core") / "axe.min.js").read_text()
    begin(served)
    faults: list[str] = []

    def look(page: Page, picture: str = "") -> None:
        for scheme, rules in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            if picture:
                keep_picture(page, f"{picture}-{scheme}.png")
            faults.extend(f"{scheme}: {fault}" for fault in find_faults(page, axe, rules))

    with browse(browser, served, viewport={"width": 1200, "height": 860}) as page:
        for path in (*VIEWS, *plan(served)):
            page.goto(served.base + path)
            expect(page.locator("h1").first).to_be_visible()
            if path in PICTURES:
                wait_until_live(page)
            look(page, PICTURES.get(path, ""))
        page.goto(served.base + "/changes")
        page.locator("tr[id='greet.py:R2'] td.num").last.click()
        expect(page.locator(".form-row form")).to_be_visible()
        look(page)
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_be_visible()
        look(page)
        page.context.clear_cookies()
        page.goto(served.base + "/inbox")
        look(page)
    assert faults == []


def keep_picture(page: Page, name: str) -> None:
    """Write the picture of docs/ anew where that is asked for: KEEP_PICTURES=1."""
    taken = page.screenshot()
    assert taken.startswith(b"\x89PNG")
    if os.environ.get("KEEP_PICTURES"):
        folder: Path = ROOT / "docs" / "page"
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(taken)
