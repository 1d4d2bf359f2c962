"""The page beside difit: the same diff in the same Chromium. Bytes, time to the first changed line, memory, nodes.

Needs Chromium, and difit from bench/peers. `python -m bench.page` prints the rows alone.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from playwright.sync_api import Browser, sync_playwright

from bench.report import Effort, Goal, goal_table
from bench.server import ROOT

FILES, LINES = 300, 17
CHANGED = "compute_0_0(total, 2)"
DIFIT = ROOT / "bench" / "peers" / "node_modules" / ".bin" / "difit"
POSTIL = str(ROOT / ".venv" / "bin" / "postil")
PATIENCE = 120_000
CHROMIUM = shutil.which("chromium", path=f"{ROOT}/.tools/bin:{os.environ.get('PATH', '/usr/bin')}")


class Seen(Struct, frozen=True):
    """What one page cost."""

    moved: float
    """kB over the network."""
    seconds: float
    """From the navigation to the first changed line."""
    heap: float
    """MB of the tab's heap, once it is quiet."""
    nodes: int
    private: float
    """MB of the tab's process that it shares with no other."""


def make_repository(folder: Path) -> Path:
    """300 files with 17 functions each, of which every one changed a line: 5,100 lines removed and as many added."""

    def write(value: int) -> None:
        for number in range(FILES):
            path = folder / "src" / f"part{number % 10}" / f"module_{number:03}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            body = [
                f"def function_{number}_{row}(first, second):\n"
                f'    """Say what this is for: {row}."""\n'
                f"    total = first + second * {row}\n"
                f"    return compute_{number}_{row}(total, {value})\n\n\n"
                for row in range(LINES)
            ]
            path.write_text("".join(body))

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)

    folder.mkdir()
    git("init", "-q", "-b", "main")
    git("config", "user.name", "Bench")
    git("config", "user.email", "bench@example.org")
    write(1)
    git("add", "-A")
    git("commit", "-qm", "first")
    write(2)
    return folder


@contextmanager
def served(words: list[str], folder: Path, pattern: str) -> Generator[str]:
    """A server; gives the address that it prints."""
    environ = {
        **os.environ,
        "XDG_STATE_HOME": str(folder.parent / "state"),
        "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}",
    }
    # A terminal for its input: difit would read a diff from anything else.
    terminal, inside = pty.openpty()
    with subprocess.Popen(
        words, cwd=folder, env=environ, stdin=inside, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if found := re.search(pattern, line):
                    yield found[1]
                    break
        finally:
            process.terminate()
            os.close(terminal)
            os.close(inside)


def read_private(browser: Browser) -> float:
    """Returns the private memory of the largest renderer of this browser, in MB: the tab that is open."""
    wire = browser.new_browser_cdp_session()
    found = wire.send("SystemInfo.getProcessInfo")["processInfo"]
    wire.detach()
    sizes = [_read_private(int(one["id"])) for one in found if one["type"] == "renderer"]
    return max(sizes, default=0.0)


def _read_private(pid: int) -> float:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Private_")) * 1024 / 1e6


def look(browser: Browser, address: str, *, enters: bool) -> Seen:
    """Open a page and measure until its first changed line is there."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    try:
        page = context.new_page()
        if enters:  # the one-time address first: its step is not the page
            page.goto(address)
            page.wait_for_url(re.compile("/changes"))
            address = page.url
            page.close()
            page = context.new_page()
        wire = context.new_cdp_session(page)
        moved = [0.0]
        wire.on("Network.loadingFinished", lambda event: moved.append(event["encodedDataLength"]))
        wire.send("Network.enable")
        wire.send("Network.setCacheDisabled", {"cacheDisabled": True})
        wire.send("Performance.enable")
        begun = time.perf_counter()
        page.goto(address, wait_until="commit")
        while not page.evaluate("word => !!document.body && document.body.textContent.includes(word)", CHANGED):
            time.sleep(0.01)
        seconds = time.perf_counter() - begun
        page.wait_for_timeout(2_000)
        wire.send("HeapProfiler.collectGarbage")
        found: dict[str, Any] = {each["name"]: each["value"] for each in wire.send("Performance.getMetrics")["metrics"]}
        heap, private = found["JSHeapUsedSize"] / 1e6, read_private(browser)
        return Seen(sum(moved) / 1000, seconds, heap, int(found["Nodes"]), private)
    finally:
        context.close()


def measure_both(rounds: int) -> tuple[Seen, Seen]:
    """Returns ours and difit's, the best of some rounds each, in turns."""
    words = [POSTIL, "serve", "--http", "127.0.0.1:0", "--auth", "local"]
    peer = [str(DIFIT), "working", "--no-open", "--host", "127.0.0.1", "--port", "0"]
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        folder = make_repository(Path(home) / "repo")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        ours: list[Seen] = []
        theirs: list[Seen] = []
        for _ in range(rounds):
            with served(words, folder, r"page (http\S+)") as address:
                ours.append(look(browser, address, enters=True))
            with served(peer, folder, r"(http://\S+?:\d+)") as address:
                theirs.append(look(browser, address, enters=False))
        browser.close()
    return min(ours, key=lambda seen: seen.seconds), min(theirs, key=lambda seen: seen.seconds)


def page(effort: Effort) -> list[Goal]:
    """The rows of the page."""
    if not DIFIT.exists() or CHROMIUM is None:
        missing = "bench/peers: `make bench`" if CHROMIUM else "Chromium: `make tools`"
        return [Goal("page: beside difit", "", f"not installed: {missing}", None)]
    ours, difit = measure_both(min(3, effort.repeats))

    def share(what: str, mine: float, other: float, most: float, unit: str) -> Goal:
        said = f"{mine / other:.3f} ({mine:,.1f} of {other:,.1f} {unit})"
        return Goal(f"page: {FILES} changed files, {what}, of difit's", f"≤ {most}", said, mine / other <= most)

    return [
        share("bytes", ours.moved, difit.moved, 0.125, "kB"),
        share("time to the first changed line", ours.seconds, difit.seconds, 0.25, "s"),
        share("heap of the tab", ours.heap, difit.heap, 0.25, "MB"),
        share("nodes", float(ours.nodes), float(difit.nodes), 0.25, "nodes"),
        Goal("page: first changed line, s", "≤ 2", f"{ours.seconds:.2f}", ours.seconds <= 2),
        Goal("page: heap of the tab, MB", "≤ 150", f"{ours.heap:.1f}", ours.heap <= 150),
        Goal(
            "page: private memory of the tab's process, MB",
            "≤ 150",
            f"{ours.private:.0f} (difit {difit.private:.0f})",
            ours.private <= 150,
        ),
        Goal("page: everything that the first page moves, kB", "≤ 60", f"{ours.moved:.1f}", ours.moved <= 60),
    ]


if __name__ == "__main__":
    print("\n".join(goal_table(page(Effort()))))
