"""What a hostile repository costs the server itself: the peak of its own memory, without what its workers take."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from postil.workspace.workers.parsing import LARGEST
from tests.attack.test_ending import call, greet, make_environ, remark, serve, write
from tests.workspace.repositories import commit_folders, git, new_repository

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").is_file(), reason="needs /proc to see a process's peak of memory"
)

MOST_GROWTH = 64 << 20
ORDINARY = {"a.py": "def a(): pass\n", "a.java": "class A {}\n", "a.cs": "class A {}\n", "a.go": "package a\n"}
HOSTILE = {
    "b.py": "/*\n" * 2700, "c.py": "~\n" * 30_000, "b.java": "a<\n" * 5000, "c.java": "template<\n" * 6000,
    "b.cs": "a<\n" * 5000, "b.go": "<!--\n" * 3000, "many.txt": "a\n" * 200_000, "deep.py": "[" * 100_000,
}  # fmt: skip
LARGE = {"lines.txt": "ab\n" * 400_000, "one.js": "a" * 4_000_000, "wide.txt": f"x = '{'-' * 30}'\n" * 100_000}


def read_peak(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


class Watched:
    """A server whose peak of memory is read after each answer."""

    def __init__(self, server: subprocess.Popen[bytes]) -> None:
        self._server = server
        self.grown: dict[str, int] = {}
        greet(server)
        self._read()
        self._before = 0

    def begin(self) -> None:
        self._before = read_peak(self._server.pid)

    def ask(self, frame: bytes, name: str) -> dict[str, Any]:
        wanted = json.loads(frame)["id"]
        write(self._server, frame)
        while (said := self._read()).get("id") != wanted:
            pass
        self.grown[name] = read_peak(self._server.pid) - self._before
        return said

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        name = f"{tool} {len(self.grown)}"
        return self.ask(call(name, "tools/call", {"name": tool, "arguments": arguments}), name)

    def check(self) -> None:
        shown = {name: f"{size >> 20} MB" for name, size in self.grown.items()}
        assert max(self.grown.values()) <= MOST_GROWTH, shown

    def _read(self) -> dict[str, Any]:
        assert self._server.stdout is not None
        return json.loads(self._server.stdout.readline())


@contextmanager
def watch(folder: Path, root: Path, *words: str) -> Generator[Watched]:
    """A server that has done ordinary work: what it grows by from now on is the attack's."""
    for name, text in ORDINARY.items():
        (root / name).write_text(text)
    with serve(folder, root, *words) as server:
        watched = Watched(server)
        for name in ORDINARY:
            watched.ask(remark(name), name)
        watched.begin()
        watched.grown.clear()
        yield watched
        watched.check()


Ask = Callable[[str, str, Mapping[str, object]], bool]


@contextmanager
def ask_over_http(folder: Path, root: Path) -> Generator[tuple[subprocess.Popen[bytes], Ask]]:
    """A server on HTTP, and what asks it (name, method, params) and says whether that had a result."""
    with serve(folder, root, "--http", "127.0.0.1:0", "--toolset", "extra") as server:
        assert server.stderr is not None
        where = re.search(r"serving (\S+)", server.stderr.readline().decode())
        token = re.search(r"token (\S+)", server.stderr.readline().decode())
        assert where is not None
        assert token is not None
        address, headers = where[1], {"Content-Type": "application/json", "Authorization": f"Bearer {token[1]}"}

        def ask(name: str, method: str, params: Mapping[str, object]) -> bool:
            asked = urllib.request.Request(address, call(name, method, dict(params)), headers)
            try:
                with urllib.request.urlopen(asked, timeout=200) as answer:
                    start: bytes = answer.read(200)
                    while answer.read(1 << 20):
                        pass
                    return b'"result"' in start
            except urllib.error.HTTPError as refused:
                with refused:
                    # Else this machine reads more slowly than is answered.
                    return refused.code == 503 and ask(name, method, params)

        yield server, ask


@needs_proc
def test_the_server_itself_does_not_grow_when_hostile_sources_are_commented(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    for name, text in HOSTILE.items():
        (root / name).write_text(text)
    (root / "nested.txt").write_text("a\n")
    (root / "nested.txt.comments").write_text("[" * 2_000_000)
    with watch(tmp_path, root) as server:
        for name in (*HOSTILE, "nested.txt"):
            server.ask(remark(name), name)


@needs_proc
def test_listing_and_searching_over_large_hostile_sources_does_not_make_it_grow(tmp_path: Path) -> None:
    """It held all texts, their lines, trees and old versions at once."""
    root = new_repository(tmp_path / "r")
    for name, text in LARGE.items():
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    with watch(tmp_path, root) as server:
        for name in LARGE:
            server.ask(remark(name), name)
        server.call("comments_list")
        for name, text in LARGE.items():
            half = len(text) // 2
            (root / name).write_text(f"changed\n{text[:half]}\nxx\n{text[half + 9 :]}")
        found = server.call("search_comments", query="x")
        assert "lines.txt" in json.dumps(found)
        (root / "lines.txt").rename(root / "moved.txt")
        server.call("comments_list")


@needs_proc
def test_comments_that_span_a_large_file_do_not_hold_it_once_each(tmp_path: Path) -> None:
    """A sidecar of a few hundred kB could ask for gigabytes."""
    root = new_repository(tmp_path / "r")
    (root / "a.txt").write_text("some line of it, and not a short one\n" * 3400)
    with watch(tmp_path, root) as server:
        server.call("add_comment", filePath="a.txt", line=1, endLine=3400, text="x")
        kept = root / "a.txt.comments"
        held = json.loads(kept.read_text())
        (comment,), (marker,) = held["comments"], held["ghostMarkers"]
        held["comments"] = [{**comment, "id": f"c_{n}", "markerId": f"gm_{n}"} for n in range(800)]
        held["ghostMarkers"] = [{**marker, "id": f"gm_{n}", "commentIds": [f"c_{n}"]} for n in range(800)]
        kept.write_text(json.dumps(held))
        assert "c_1" in json.dumps(server.call("comments_list", limit=5, file="a.txt"))


@needs_proc
def test_objects_configs_and_sidecars_that_claim_giants_do_not_make_it_grow(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "r")
    for name in ("bomb.txt", "one.txt"):
        (root / name).write_bytes(b"a\n" * (8 << 20) if name == "bomb.txt" else b"a\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a blob of 16 MB in a few kB")
    (root / "bomb.txt").write_text("a\n")
    (root / "one.txt.comments").write_bytes(b" " * (15 << 20) + b"{}")
    with (root / ".git/config").open("a") as file:
        file.write('[remote "x"]\n' + "\turl = https://example.org/x\n" * 20_000)
    with watch(tmp_path, root) as server:
        for name in ("bomb.txt", "one.txt"):
            server.ask(remark(name), name)
        server.call("comments_list")
        server.call("workspace_status")
        server.call("workspace_diff")
        server.call("git_mile_list")


@needs_proc
def test_folders_that_name_each_other_do_not_make_it_grow(tmp_path: Path) -> None:
    """A commit of 400,000 files in two kilobytes: it held the rows of all."""
    root = new_repository(tmp_path / "r", a__txt="one\ntwo\n")
    commit_folders(root, 10, 10, 10, 10, 10, 4)
    with watch(tmp_path, root, "--toolset", "extra") as server:
        server.ask(remark("a.txt"), "a.txt")
        (root / "a.txt").unlink()
        assert "a.txt" in json.dumps(server.call("comments_list"))
        server.call("comments_at", revision="HEAD~1")
        assert "printed more than" in json.dumps(server.call("workspace_changes", scope="HEAD~1"))


@needs_proc
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "comment://workspace/a.txt.comments"}),
        ("search_comments", {"query": "word"}),
        ("workspace_diff", {"files": ["many.txt"]}),
        ("workspace_file", {"file": "one.txt"}),
        ("export_comments", {"format": "json"}),
    ],
)
def test_many_who_read_the_same_large_thing_at_once_take_little_more_than_one(
    tmp_path: Path, method: str, params: dict[str, object]
) -> None:
    """Twenty readings of 14 MB took 270 to 1,200 MB: half of that is too much, too."""
    root = new_repository(tmp_path / "r", a__txt="one\n")
    (root / "many.txt").write_text(f"{'y' * 99}\n" * 140_000)
    (root / "one.txt").write_text("z" * 14_000_000)
    git(root, "add", "-A")
    with serve(tmp_path, root) as server:
        greet(server)
        Watched(server).ask(remark("a.txt"), "a.txt")
    kept = root / "a.txt.comments"
    held = json.loads(kept.read_text())
    held["comments"][0]["text"] = "word " * 2_800_000
    kept.write_text(json.dumps(held))
    with ask_over_http(tmp_path, root) as (server, ask):
        assert ask("0", method, params)
        before = read_peak(server.pid)
        with ThreadPoolExecutor(10) as clients:
            asked = [clients.submit(ask, str(number), method, params) for number in range(1, 11)]
            assert all(each.result() for each in asked)
        assert read_peak(server.pid) - before <= MOST_GROWTH


READINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "comments_list": ("tools/call", {"name": "comments_list", "arguments": {}}),
    "comments_show": ("tools/call", {"name": "comments_show", "arguments": {"commentId": "c_0000001"}}),
    "search_comments": ("tools/call", {"name": "search_comments", "arguments": {"query": "word"}}),
    "file": ("resources/read", {"uri": "comment://workspace/a.txt.comments"}),
    "all": ("resources/read", {"uri": "comment://workspace/all"}),
}
SMALL, LARGEST_SIDECAR = 18_000, 15_500_000
SIDECARS = {
    "many small": [f"word {number}" for number in range(SMALL)],
    "many long": ["word " * 12_000 for _ in range(240)],
    "two of megabytes": ["word " * 1_400_000] * 2,
    "one of wide characters": ["a word", "word " * 2_800_000 + "\U0001f600"],
}


def write_large_sidecar(folder: Path, texts: list[str], replies: int = 0) -> Path:
    """A workspace whose one comment file has 12 to 16 MB."""
    root = new_repository(folder / "r", a__txt="one\n", b__txt="one\n")
    git(root, "add", "-A")
    with serve(folder, root) as server:
        Watched(server).ask(remark("a.txt"), "a.txt")
    kept = root / "a.txt.comments"
    held = json.loads(kept.read_text())
    (comment,), (marker,) = held["comments"], held["ghostMarkers"]
    reply = {"id": "r_1", "text": "word " * 200, "author": "ann", "created": comment["created"]}
    names = [f"{number:07}" for number in range(1, len(texts) + 1)]
    held["comments"] = [
        {**comment, "id": f"c_{name}", "ghostMarkerId": f"gm_{name}", "text": text, "replies": [reply] * replies}
        for name, text in zip(names, texts, strict=True)
    ]
    held["ghostMarkers"] = [{**marker, "id": f"gm_{name}", "commentIds": [f"c_{name}"]} for name in names]
    kept.write_text(json.dumps(held, indent=2, ensure_ascii=False))
    assert 12_000_000 < kept.stat().st_size < LARGEST_SIDECAR
    return root


@needs_proc
@pytest.mark.parametrize("kind", [*SIDECARS, "thousands of replies"])
def test_a_first_reading_of_a_large_comment_file_takes_little(tmp_path: Path, kind: str) -> None:
    """It took 79 to 220 MB: a worker's answer held twice, the cache's pages, and several copies of each answer."""
    root = write_large_sidecar(tmp_path, SIDECARS.get(kind, ["word"]), 0 if kind in SIDECARS else 12_000)
    with serve(tmp_path, root) as server:
        watched = Watched(server)
        watched.ask(remark("b.txt"), "ordinary")
        watched.begin()
        watched.grown.clear()
        for name, (method, params) in READINGS.items():
            said = watched.ask(call(name, method, params), name)
            assert "word" in json.dumps(said), said
        watched.check()


MANY, A_MARKER = 30_000, 100
FAR: dict[str, dict[str, object]] = {
    "behind others": {"skip": MANY - 100},
    "behind others on a line": {"file": "a.txt:1", "skip": MANY - 100},
    "at a commit": {"revision": "HEAD"},
    "behind others at a commit": {"revision": "HEAD", "skip": MANY - 100},
    "made since a commit": {"revision": "HEAD~1"},
}


@needs_proc
def test_a_page_behind_many_comments_and_a_list_of_the_past_take_little(tmp_path: Path) -> None:
    """It took 140 MB to pass over 29,000 comments, and 450 MB to see those of a commit."""
    root = write_large_sidecar(tmp_path, SIDECARS["many small"])
    held = json.loads((root / "a.txt.comments").read_text())
    comment, marker = held["comments"][0], held["ghostMarkers"][0]
    markers = [f"gm_{number}" for number in range(MANY // A_MARKER)]
    held["ghostMarkers"] = [
        {**marker, "id": name, "commentIds": [f"c_{name}_{number}" for number in range(A_MARKER)]} for name in markers
    ]
    held["comments"] = [
        {**comment, "id": identity, "ghostMarkerId": each["id"]}
        for each in held["ghostMarkers"]
        for identity in each["commentIds"]
    ]
    (root / "a.txt.comments").write_text(json.dumps(held))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "commented")
    with serve(tmp_path, root) as server:
        watched = Watched(server)
        watched.call("comments_list", limit=1)
        watched.begin()
        watched.grown.clear()
        for name, about in FAR.items():
            method, params = "tools/call", {"name": "comments_list", "arguments": {"limit": 10, **about}}
            said = watched.ask(call(name, method, params), name)
            assert "more" in json.dumps(said), said
        watched.check()


def read_peak_in_shell(folder: Path, root: Path, *words: str) -> int:
    """The peak of memory of a shell command."""
    program = (
        f"import sys\nfrom postil.surfaces.shell.main import main\nsys.argv[1:] = {words!r}\n"
        "try:\n    main()\nfinally:\n"
        "    sys.stdout.flush()\n    print(open('/proc/self/status').read(), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        capture_output=True,
        text=True,
        env=make_environ(folder),
        check=False,
    )
    found = re.search(r"VmHWM:\s+(\d+) kB", ended.stderr)
    assert found is not None, ended.stderr
    return int(found[1]) * 1024


@needs_proc
def test_a_first_reading_over_http_and_in_the_shell_takes_little(tmp_path: Path) -> None:
    root = write_large_sidecar(tmp_path, SIDECARS["many long"])
    with ask_over_http(tmp_path, root) as (server, ask):
        assert ask("0", "ping", {})
        before = read_peak(server.pid)
        assert ask("1", *READINGS["search_comments"])
        assert read_peak(server.pid) - before <= MOST_GROWTH
    empty = new_repository(tmp_path / "empty", a__txt="one\n")
    peaks = [read_peak_in_shell(tmp_path, folder, "comments", "list") for folder in (empty, root)]
    assert peaks[1] - peaks[0] <= MOST_GROWTH


@needs_proc
@pytest.mark.parametrize("line", [b"\n", b"*.comments merge=postil-comments\n", b"* a b c d\n", b" "])
@pytest.mark.parametrize("words", [["--check"], [], ["--remove"]])
def test_a_giant_file_of_attributes_is_never_lines(tmp_path: Path, words: list[str], line: bytes) -> None:
    """Of 16 MB of empty lines `setup git` made a list of lines that took 1,623 MB."""
    empty = new_repository(tmp_path / "empty", a__txt="one\n")
    root = new_repository(tmp_path / "r", a__txt="one\n")
    (root / ".gitattributes").write_bytes(line * ((15 << 20) // len(line)))
    peaks = [read_peak_in_shell(tmp_path, folder, "setup", "git", *words) for folder in (empty, root)]
    assert peaks[1] - peaks[0] <= MOST_GROWTH


WRITES: dict[str, dict[str, object]] = {
    "add_comment": {"filePath": "a.txt", "line": 1, "text": "x"},
    "comments_reply": {"commentId": "c_0000002", "text": "x"},
    "comments_resolve": {"commentId": "c_0000002"},
    "edit_comment": {"commentId": "c_0000002", "text": "y"},
    "move_comment": {"commentId": "c_0000002", "targetFile": "b.txt", "targetLine": 1},
    "comments_undo": {"commentId": "c_0000002"},
    "delete_comment": {"commentId": "c_0000003", "filePath": "a.txt"},
    "comments_relocate": {},
}
WRITTEN = {
    "many small": SIDECARS["many small"],
    "giants": ["word " * 280_000] * 10,
    "giants of two bytes a character": ["слово " * 127_000] * 10,
    "giants of four bytes a character": ["\U0001f600" + "word " * 270_000] * 10,
}


@needs_proc
@pytest.mark.parametrize("kind", WRITTEN)
def test_a_write_to_a_large_comment_file_takes_little(tmp_path: Path, kind: str) -> None:
    """It took 85 to 175 MB: the file as characters, as objects twice, and as bytes five times."""
    root = write_large_sidecar(tmp_path, WRITTEN[kind])
    for tool, about in WRITES.items():
        with serve(tmp_path, root) as server:
            watched = Watched(server)
            watched.ask(remark("b.txt"), "ordinary")
            watched.begin()
            watched.grown.clear()
            said = watched.call(tool, **about)
            assert not said["result"].get("isError"), said
            watched.check()
    assert len(json.loads((root / "a.txt.comments").read_text())["comments"]) == len(WRITTEN[kind])


@needs_proc
def test_a_file_with_a_giant_comment_is_read_and_not_changed(tmp_path: Path) -> None:
    """To change one of 14 MB took up to 228 MB; one is made by other programs alone."""
    root = write_large_sidecar(tmp_path, SIDECARS["one of wide characters"])
    kept = (root / "a.txt.comments").read_bytes()
    for tool, about in (WRITES | {"delete_comment": {"commentId": "c_0000001", "filePath": "a.txt"}}).items():
        with serve(tmp_path, root) as server:
            watched = Watched(server)
            watched.ask(remark("b.txt"), "ordinary")
            watched.begin()
            watched.grown.clear()
            said = json.dumps(watched.call(tool, **about))
            watched.check()
            assert "c_0000002" in said or tool == "comments_relocate", said
            assert "in an editor" in said or tool in ("comments_undo", "comments_relocate"), said
    assert (root / "a.txt.comments").read_bytes() == kept


@needs_proc
def test_many_who_write_to_a_large_comment_file_take_little_more_than_one(tmp_path: Path) -> None:
    """Replies that waited for each other were made together, and each noted megabytes: twenty took 205 MB more."""
    root = write_large_sidecar(tmp_path, ["word " * 280_000] * 10)
    with ask_over_http(tmp_path, root) as (server, ask):
        for tool, count in (("add_comment", 20), ("comments_reply", 8)):
            about = {"filePath": "a.txt", "line": 1} if tool == "add_comment" else {"commentId": "c_0000001"}
            params = {"name": tool, "arguments": {**about, "text": "x"}}
            assert ask("0", "tools/call", params)
            before = read_peak(server.pid)
            with ThreadPoolExecutor(count) as clients:
                asked = [clients.submit(ask, str(number), "tools/call", params) for number in range(count)]
                assert all(each.result() for each in asked)
            assert read_peak(server.pid) - before <= MOST_GROWTH, tool
    assert (root / "a.txt.comments").read_text().count('"text": "x"') == 21 + 9


class GiantGitLab(BaseHTTPRequestHandler):
    """A GitLab whose issues are 10 MB."""

    issues = json.dumps([{"id": n, "iid": n, "title": "t", "description": "word " * 100_000} for n in range(20)])

    def do_GET(self) -> None:
        body = self.issues.encode() if "issues" in self.path else b"{}"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@needs_proc
def test_many_large_answers_of_gitlab_at_once_take_little_more_than_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty took 219 MB more: the event loop reads 8 MB of each connection at a time, and all were held."""
    root = new_repository(tmp_path / "r", a__txt="one\n")
    listing = {"name": "list_issues", "arguments": {"project_id": 1}}
    with ThreadingHTTPServer(("127.0.0.1", 0), GiantGitLab) as gitlab:
        threading.Thread(target=gitlab.serve_forever, daemon=True).start()
        monkeypatch.setenv("GITLAB_URL", f"http://127.0.0.1:{gitlab.server_port}")
        monkeypatch.setenv("GITLAB_TOKEN", "a-token")
        with ask_over_http(tmp_path, root) as (server, ask):
            assert all(ask(f"first {number}", "tools/call", listing) for number in range(2))
            one = read_peak(server.pid)
            with ThreadPoolExecutor(20) as clients:
                asked = [clients.submit(ask, str(number), "tools/call", listing) for number in range(20)]
                assert all(each.result() for each in asked)
            assert read_peak(server.pid) - one <= MOST_GROWTH
        gitlab.shutdown()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound a process's memory otherwise, or not")
def test_a_worker_gets_no_more_memory_than_its_limit() -> None:
    program = (
        "from postil.workspace.workers import parsing\nparsing._limit_memory()\n"
        "try:\n    bytearray(parsing.LARGEST)\nexcept MemoryError:\n    print('refused')\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "refused\n"
    assert LARGEST <= 128 << 20
