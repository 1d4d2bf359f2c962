"""The page of a repository with 100,000 comments and 100,000 issues: CPU of each answer, first paint, live updates.

Needs Chromium. `python -m bench.page_load` prints the rows alone; `--count 1000` tries them on a small repository.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from urllib.parse import quote, urlencode, urlsplit

from msgspec import Struct
from playwright.sync_api import Browser, Page, sync_playwright

from bench.commented import many
from bench.page import CHROMIUM, PATIENCE, POSTIL, make_repository
from bench.report import Effort, Goal, at_most, goal_table
from bench.tracker_data import filled, git, writer_by_writer
from postil.inbox.model import Message, Place
from postil.inbox.store import MessageStore
from postil.storage.sqlite import SqliteState
from postil.workspace.repository import find_repository

CLOSED, OPEN = 2_000, 60
ROUNDS = 5
MOST_CPU, MOST_PAINT, MOST_LIVE = 100, 1.0, 0.5
VIEWS = (
    "/changes", "/inbox", "/inbox?closed=1", "/comments", "/comments?tag=NOTE", "/comments?q=vulnerable",
    "/comments?file=package1/module1.py", "/comments/file?file=package1/module1.py", "/comments/doubts", "/issues",
    "/issues?q=label:bug", "/issues?q=crash", "/board", "/board?by=label", "/board?by=label&q=crash",
    "/board?by=milestone", "/milestones",
)  # fmt: skip
"""Every kind of view; an issue and a milestone of the repository come to them."""
PAINTED = ("changes", "inbox", "comments", "issues")


class Site(Struct, frozen=True):
    """A running server with a browser's cookie."""

    pid: int
    base: str
    cookie: str

    def ask(self, path: str, **form: str) -> bytes:
        """Returns an answer; of a form what it says."""
        host = urlsplit(self.base).netloc
        connection = http.client.HTTPConnection(host, timeout=600)
        headers = {"Cookie": self.cookie, "Accept-Encoding": "identity"}
        if form:
            headers |= {"Origin": self.base, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST" if form else "GET", path, urlencode(form) if form else None, headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        assert answer.status in (200, 303), (path, answer.status, body[:300])
        return body

    def cpu(self) -> float:
        """Returns the CPU of the process and of the programs that it ran, in ms."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) * 1000 / os.sysconf("SC_CLK_TCK")


def make_large(folder: Path, count: int) -> Path:
    """So many issues and comments, some in doubt, a milestone, and thousands of conversations."""
    filled(folder, count, writer_by_writer)
    many(folder, count)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "commented")
    (folder / "package1" / "module1.py").write_text("".join(f"other_{row} = compute({row})\n" for row in range(200)))
    environ = {**os.environ, "XDG_STATE_HOME": str(folder.parent / "state")}
    for words in (["milestone", "create", "v1", "--due", "2030-01-31"], ["workspace", "info"]):
        subprocess.run([POSTIL, *words], cwd=folder, env=environ, check=True, capture_output=True)
    repository = find_repository(str(folder))
    state = SqliteState(str(folder.parent / "state" / "postil" / "state.db"))
    messages = MessageStore(state, repository.key, home=repository)
    for at in range(CLOSED + OPEN):
        place = Place(f"package{at % 50}/module{at % 50}.py", str(at % 200 + 1), blob="0" * 40, code=f"value = {at}")
        made = messages.add(lambda number, place=place: Message(number, place, "say why", "2026-01-01T00:00:00Z"))[0]
        if at >= OPEN:
            messages.close(made.id, "addressed", None, "", "")
    return folder


@contextmanager
def serving(folder: Path) -> Generator[tuple[Site, str]]:
    """A server, and an address that lets a browser in."""
    environ = {**os.environ, "XDG_STATE_HOME": str(folder.parent / "state")}
    words = [POSTIL, "serve", "--http", "127.0.0.1:0", "--auth", "local"]
    with subprocess.Popen(words, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        addresses = (found[1] for line in process.stderr if (found := re.search(r"page (http\S+)", line)))
        try:
            address = urlsplit(next(addresses))
            connection = http.client.HTTPConnection(address.netloc)
            connection.request("GET", f"{address.path}?{address.query}")
            cookie = (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]
            yield Site(process.pid, f"http://{address.netloc}", cookie), next(addresses)
        finally:
            process.terminate()


def measure_cpu(site: Site, path: str) -> float:
    """Returns the CPU of one answer in ms, the best of three looks at several."""
    for _ in range(2):  # imports, and whatever is made once
        site.ask(path)
    found: list[float] = []
    for _ in range(3):
        before = site.cpu()
        for _ in range(ROUNDS):
            site.ask(path)
        found.append((site.cpu() - before) / ROUNDS)
    return min(found)


PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def measure_paint(page: Page, site: Site, place: str) -> float:
    """Returns the seconds from the click on a view to its first paint, the better of three."""
    found: list[float] = []
    for _ in range(3):
        page.goto(f"{site.base}/help")
        page.click(f"nav a[href='/{place}']")
        page.wait_for_url(f"{site.base}/{place}")
        page.wait_for_function(f"() => ({PAINT}) > 0")
        found.append(page.evaluate(PAINT) / 1000)
    return min(found)


def measure_empty(page: Page) -> float:
    """Returns the same for a page that says one word."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<!doctype html><title>x</title><p>x" if self.path == "/x" else b"<!doctype html><a href=/x>x</a>"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found: list[float] = []
    for _ in range(3):
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.click("a")
        page.wait_for_url("**/x")
        page.wait_for_function(f"() => ({PAINT}) > 0")
        found.append(page.evaluate(PAINT) / 1000)
    server.shutdown()
    return min(found)


def measure_live(page: Page, site: Site) -> float:
    """Returns the seconds from an acknowledged write of another to its appearance in an open page, in the middle."""
    page.goto(f"{site.base}/inbox")
    page.wait_for_selector("html[data-live=on]", state="attached")
    token = re.search(rb'name="form-token" value="(\w+)"', site.ask("/inbox"))
    assert token is not None
    found: list[float] = []
    for at in range(5):
        words = f"seen {at} at {time.time()}"
        remark = {"file": "package2/module2.py", "line": "1", "side": "R", "comment": words, "act": "now"}
        site.ask("/changes/remark", **remark, **{"form-token": token[1].decode()})
        begun = time.perf_counter()
        page.wait_for_function("words => document.body.textContent.includes(words)", arg=words, polling=5)
        found.append(time.perf_counter() - begun)
    return median(found)


@contextmanager
def looking(browser: Browser, address: str) -> Generator[Page]:
    """A page of a browser that was let in."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address)
    page.wait_for_url(re.compile("/(changes|inbox|help)"))
    try:
        yield page
    finally:
        context.close()


def page_load(effort: Effort) -> Iterator[Goal]:
    """The rows of the page on a large repository."""
    count = effort.issues
    if CHROMIUM is None:
        yield Goal(f"page at {count:,} comments and issues", "", "not installed: Chromium: `make tools`", None)
        return
    about = f"page at {count:,} comments and issues"
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        folder = make_large(Path(home) / "repo", count)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with serving(folder) as (site, address):
            one = re.search(rb'href="(/issues/[^"?]+)"', site.ask("/issues"))
            milestone = re.search(rb'href="(/milestones/[^"?]+)"', site.ask("/milestones"))
            assert one is not None
            assert milestone is not None
            for path in (*VIEWS, one[1].decode(), milestone[1].decode(), f"/inbox/{CLOSED}"):
                shown = re.sub(r"/[0-9a-f-]{20,}", "/ID", path)
                yield at_most(f"{about}: CPU of {shown}, ms", measure_cpu(site, path), MOST_CPU, ".0f")
            with looking(browser, address) as page:
                empty = measure_empty(page)
                for place in PAINTED:
                    seconds = measure_paint(page, site, place)
                    said = f"{seconds:.2f} (an empty page {empty:.2f})"
                    yield Goal(f"{about}: first paint of /{place}, s", f"≤ {MOST_PAINT}", said, seconds <= MOST_PAINT)
                live = measure_live(page, site)
                yield at_most(f"{about}: another's write appears, s", live, MOST_LIVE, ".2f")
        browser.close()
        with serving(make_repository(Path(home) / "diff")) as (site, _):
            files = "&".join(f"f={quote(f'src/part{at % 10}/module_{at:03}.py')}" for at in range(100, 104))
            for path in ("/changes", "/changes?layout=split", f"/changes/files?{files}"):
                shown = path.partition("?f=")[0]
                spent = measure_cpu(site, path)
                yield at_most(f"page: 300 changed files, CPU of {shown}, ms", spent, MOST_CPU, ".0f")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=Effort().issues)
    print("\n".join(goal_table(list(page_load(Effort(issues=parser.parse_args().count))))))
