"""The views inside an assistant, in a real browser, in a host made with the official app-bridge."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, Page, Route, expect

from tests.inbox.people import Assistant, Person
from tests.needs import needs_package
from tests.surfaces.page.pages import PATIENCE
from tests.surfaces.page.test_accessibility import SCHEMES, find_faults
from tests.surfaces.page.test_injection import CORPUS

expect.set_options(timeout=PATIENCE)
UI = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
ORIGIN = "http://host.test"
BARE = {
    "@modelcontextprotocol/ext-apps/app-bridge": "@modelcontextprotocol/ext-apps/dist/src/app-bridge.js",
    "@modelcontextprotocol/client": "@modelcontextprotocol/client/dist/index.mjs",
    "@modelcontextprotocol/client/_shims": "@modelcontextprotocol/client/dist/shimsBrowser.mjs",
    "@modelcontextprotocol/core": "@modelcontextprotocol/core/dist/index.mjs",
    "@modelcontextprotocol/core/internal": "@modelcontextprotocol/core/dist/internal.mjs",
    "zod/v4": "zod/v4/index.js",
    "eventsource": "eventsource/dist/index.js",
    "eventsource-parser": "eventsource-parser/dist/index.js",
    "eventsource-parser/stream": "eventsource-parser/dist/stream.js",
    "pkce-challenge": "pkce-challenge/dist/index.browser.js",
}
HOST = """<!doctype html><html lang="en"><head><title>Host</title><script type="importmap">%s</script></head><body>
<script type="module">
import {AppBridge, PostMessageTransport, getToolUiResourceUri, isToolVisibilityAppOnly}
  from "@modelcontextprotocol/ext-apps/app-bridge";
const ask = async (method, params) => JSON.parse(await window.askServer(JSON.stringify({method, params})));
const tools = (await ask("tools/list", {})).tools;
window.modelTools = tools.filter((tool) => !isToolVisibilityAppOnly(tool)).map((tool) => tool.name);
window.said = [];
window.render = async (name, args, theme) => {
  const tool = tools.find((one) => one.name === name), uri = getToolUiResourceUri(tool);
  const [content] = (await ask("resources/read", {uri})).contents;
  const result = await ask("tools/call", {name, arguments: args});
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = name;
  frame.style.cssText = "width:100%%;height:700px";
  document.body.replaceChildren(frame);
  const capabilities = {serverTools: {}, serverResources: {}, updateModelContext: {text: {}}};
  const hostContext = {theme, toolInfo: {tool}};
  const bridge = new AppBridge(null, {name: "test-host", version: "1"}, capabilities, {hostContext});
  bridge.oncalltool = (params) => ask("tools/call", {name: params.name, arguments: params.arguments});
  bridge.onreadresource = (params) => ask("resources/read", {uri: params.uri});
  bridge.onupdatemodelcontext = async (params) => { window.said.push(params.content[0].text); return {}; };
  bridge.onsizechange = (size) => { window.size = size; };
  const ready = new Promise((done) => { bridge.oninitialized = done; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = content.text;
  await ready;
  await bridge.sendToolInput({arguments: args});
  await bridge.sendToolResult(result);
  window.bridge = bridge;
  return {mimeType: content.mimeType, meta: content._meta, text: result.content[0].text};
};
window.isReady = true;
</script></body></html>"""


class Host:
    """A page that hosts our views."""

    def __init__(self, page: Page, assistant: Assistant) -> None:
        self.page, self.assistant = page, assistant

    def render(self, tool: str, theme: str = "light", **arguments: object) -> Frame:
        """Call a tool, and show its result in its view."""
        told = self.page.evaluate("([name, args, theme]) => window.render(name, args, theme)", [tool, arguments, theme])
        assert told["mimeType"] == "text/html;profile=mcp-app"
        assert told["meta"]["ui"]["csp"]["connectDomains"] == []
        assert told["text"]  # it stands alone
        frame = self.page.frames[-1]
        expect(frame.locator("#view > *").first).to_be_visible()
        return frame


@contextmanager
def host(browser: Browser, person: Person) -> Generator[Host]:
    """A host with a real server behind it."""
    packages = needs_package("@modelcontextprotocol/ext-apps").parents[1]
    imports = {"imports": {name: f"{ORIGIN}/node_modules/{path}" for name, path in BARE.items()}}

    def serve(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN)
        if not path.startswith("/node_modules/"):
            route.fulfill(body=HOST % json.dumps(imports), content_type="text/html")
            return
        file = packages / path.removeprefix("/node_modules/")
        route.fulfill(body=file.read_bytes(), content_type="text/javascript")

    with person.assistant("postil", "serve") as assistant:
        answered = assistant.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": UI})["result"]
        assert "io.modelcontextprotocol/ui" in answered["capabilities"]["extensions"]

        def ask(asked: str) -> str:
            message = json.loads(asked)
            answer = assistant.ask(message["method"], message["params"])
            assert "result" in answer, answer
            return json.dumps(answer["result"])

        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        try:
            page = context.new_page()
            faults: list[str] = []
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
            page.expose_function("askServer", ask)  # pyright: ignore[reportUnknownMemberType]
            page.route(f"{ORIGIN}/**", serve)
            page.goto(f"{ORIGIN}/")
            page.wait_for_function("window.isReady")
            yield Host(page, assistant)
            assert faults == []
        finally:
            context.close()


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_the_conversation_is_read_and_answered(browser: Browser, person: Person) -> None:
    person.send("Why two?", "a.txt", "2", "--kind", "question", "--suggest", "TWO")
    person.send("And this?", "b.txt")
    with host(browser, person) as shown:
        assert "person_reply" not in shown.page.evaluate("window.modelTools")
        frame = shown.render("inbox_list")
        expect(frame.locator("#m1")).to_contain_text("Why two?")
        expect(frame.locator("#m1 pre")).to_have_text("TWO")
        frame.locator("#m1 textarea").fill("Because I say so")
        frame.locator("#m1 button", has_text="Reply").click()
        expect(frame.locator("#m1 .reply")).to_contain_text("Because I say so")
        frame.locator("#m2 button", has_text="Resolve").click()
        expect(frame.locator("#m2")).to_have_count(0)
        assert shown.page.evaluate("window.said") == ["The person did this in the view: person_resolve of 2"]
        assert shown.page.evaluate("window.size.height") > 50
    (one,) = person.messages()
    assert [(each["author"], each["text"]) for each in one["replies"]] == [("you", "Because I say so")]


def test_a_doubt_is_decided(browser: Browser, person: Person) -> None:
    code = person.root / "m.py"
    rest = "def two(x):\n    return x\n"
    code.write_text(f"def one(a, b):\n    total = compute(a, b, limit=10)\n    return total\n\n\n{rest}")
    with host(browser, person) as shown:
        shown.assistant.call("add_comment", filePath="m.py", line=2, text="Why ten?")
        shown.assistant.call("add_comment", filePath="a.txt", line=4, text="Four is special")
        changed = "def uno(a, b, c):\n    sum_all = calculate(a, b, c, limit=20)\n    return sum_all\n"
        code.write_text(f"{rest}\n\n{changed}")
        (person.root / "a.txt").write_text("nothing of it\n")
        frame = shown.render("comments_orphans")
        cards = frame.locator("article.card")
        expect(cards).to_have_count(2)
        first = cards.filter(has_text="Why ten?")
        expect(first.locator("pre").first).to_have_text("    total = compute(a, b, limit=10)")
        first.locator("button", has_text="It belongs here").click()
        expect(cards).to_have_count(1)
        cards.locator("button", has_text="Delete").click()
        expect(frame.locator("#view")).to_contain_text("Every comment knows its code.")
    listed = json.loads(person.run("postil", "comments", "list", "--json").stdout)["comments"]
    assert [(one["text"], one["line"], one["state"]) for one in listed] == [("Why ten?", 6, "exact")]


def make_issues(person: Person, *titles: str, milestone: str = "") -> None:
    for title in titles:
        more = ["--milestone", milestone] if milestone else []
        done = person.run("postil", "issue", "create", title, *more)
        assert done.returncode == 0, done.stderr


def test_a_card_is_moved(browser: Browser, person: Person) -> None:
    make_issues(person, "First", "Second")
    with host(browser, person) as shown:
        frame = shown.render("git_mile_list", entity="issue", includeClosed=True)
        opened, closed = (frame.locator(f".column[data-column={key}]") for key in ("open", "closed"))
        expect(opened.locator("article")).to_have_count(2)
        opened.locator("article", has_text="Second").locator("select").select_option("closed")
        expect(closed.locator("article")).to_contain_text("Second")
        expect(opened.locator("article")).to_have_count(1)
        (said,) = shown.page.evaluate("window.said")  # a title is a word of others, and no word of the person
        assert re.fullmatch(r"The person did this in the view: git_mile_update of [\w-]+", said)
    assert "Second" not in person.run("postil", "issue", "list").stdout


def test_a_milestone_has_its_burn_down(browser: Browser, person: Person) -> None:
    with host(browser, person) as shown:
        shown.assistant.call("git_mile_create", entity="milestone", title="v1", due="2030-01-31")
        listed = person.run("postil", "call", "git_mile_list", '{"entity": "milestone"}', "--json")
        (mile,) = json.loads(listed.stdout)["items"]
        shown.assistant.call("git_mile_create", title="One", milestone=mile["id"])
        frame = shown.render("git_mile_show", id=mile["id"], entity="milestone")
        expect(frame.locator("h1")).to_have_text("v1")
        expect(frame.locator("img.chart")).to_have_js_property("complete", True)
        assert frame.locator("img.chart").evaluate("(image) => image.naturalWidth") > 0
        frame.locator("button", has_text="Close").click()
        expect(frame.locator("button", has_text="Reopen")).to_be_visible()


def test_no_text_runs_in_a_view(browser: Browser, person: Person) -> None:
    for text in CORPUS:
        person.send(text, "a.txt", "2", "--suggest", text)
    make_issues(person, *(text.replace("\u2028", " ") for text in CORPUS))
    with host(browser, person) as shown:
        for text in CORPUS:
            shown.assistant.call("add_comment", filePath="b.txt", line=1, text=text)
        (person.root / "b.txt").write_text("nothing of it\n")
        for tool, arguments in (
            ("inbox_list", {}),
            ("comments_orphans", {}),
            ("git_mile_list", {"entity": "issue"}),
        ):
            frame = shown.render(tool, **arguments)
            assert frame.locator("article.card").count() >= 5
            assert frame.evaluate("window.ran") is None
            assert frame.locator("#view script, #view iframe, #view img, #view svg, [onerror], [onload]").count() == 0
        assert shown.page.evaluate("window.ran") is None


def test_no_view_has_a_grave_fault_in_the_theme_of_its_host(browser: Browser, person: Person) -> None:
    axe = (needs_package("axe-core") / "axe.min.js").read_text()
    person.send("Why two?", "a.txt", "2", "--suggest", "TWO")
    make_issues(person, "First")
    faults: list[str] = []
    with host(browser, person) as shown:
        shown.assistant.call("add_comment", filePath="b.txt", line=1, text="Its code goes")
        (person.root / "b.txt").write_text("nothing of it\n")
        for theme, rules in SCHEMES:
            for tool, arguments in (
                ("inbox_list", {}),
                ("comments_orphans", {}),
                ("git_mile_list", {"entity": "issue"}),
            ):
                frame = shown.render(tool, theme, **arguments)
                ground = frame.evaluate("getComputedStyle(document.body).backgroundColor")
                assert ground == ("rgb(255, 255, 255)" if theme == "light" else "rgb(21, 24, 28)")
                faults += find_faults(frame, axe, rules)
            other = "light" if theme == "dark" else "dark"
            shown.page.evaluate("(theme) => window.bridge.setHostContext({theme})", other)
            frame = shown.page.frames[-1]
            frame.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=other)
    assert faults == []
