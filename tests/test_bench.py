"""What `make bench` starts can be started, and its document keeps what was not measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from bench.__main__ import SECTIONS, Section, run
from bench.hard_anchors import KINDS, judge, make_case
from bench.report import HOW, QUICK, Effort, Goal, at_most, merge
from bench.servers.echo import Echo
from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate_all
from postil.core.arguments.published import describe
from postil.core.catalogue import Catalogue

ROOT = Path(__file__).resolve().parents[1]


def test_the_catalogue_of_the_measured_server_is_the_one_described() -> None:
    written = msgspec.json.decode((ROOT / "bench/servers/echo.json").read_bytes(), type=Catalogue)
    described = describe([("echo", "echo", Echo)])
    assert msgspec.json.decode(msgspec.json.encode(written)) == msgspec.json.decode(msgspec.json.encode(described))


def test_the_measured_server_answers() -> None:
    frames: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
        {"id": 2, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hello"}}},
    ]
    sent = b"".join(msgspec.json.encode({"jsonrpc": "2.0", **frame}) + b"\n" for frame in frames)
    command = [sys.executable, "-m", "bench.servers.ours"]
    got = subprocess.run(command, input=sent, capture_output=True, cwd=ROOT, check=True, timeout=60).stdout.splitlines()
    assert msgspec.json.decode(got[1])["result"]["content"] == [{"type": "text", "text": "hello"}]


@pytest.mark.parametrize("kind", KINDS)
def test_hard_cases_say_what_is_true(kind: str) -> None:
    functions = [
        f"def step_{number}(value):\n    if value > {number}:\n        go(value)\n    return {number}\n\n\n"
        for number in range(9)
    ]
    case = make_case(kind, "a.py", "".join(functions), Random(5))
    assert case is not None
    old, new = case.old.split("\n"), case.new.split("\n")
    for line, now in case.truth.items():
        if now is not None and kind != "storm":
            assert old[line - 1] == new[now - 1]
    assert kind == "storm" or (None in case.truth.values()) == (kind == "deleted")
    found = relocate_all(Source(case.old, "a.py"), Source(case.new, "a.py"), [Span(line) for line in case.truth])
    verdicts = [judge(truth, each) for truth, each in zip(case.truth.values(), found, strict=True)]
    assert verdicts.count("wrong") <= len(verdicts) // 10


def good(effort: Effort) -> Iterator[Goal | str]:
    yield at_most("good | fine", 1, 2)
    yield f"{effort.rounds} rounds"


def bad(effort: Effort) -> Iterator[Goal | str]:
    yield at_most("until it failed", 3, 2)
    raise RuntimeError(f"no program | after\n{effort.calls} calls")


GOOD, BAD, LAST = (
    Section(name, name.title(), f"tests.test_bench:{function}")
    for name, function in (("first", "good"), ("second", "bad"), ("third", "good"))
)
TITLES = ["First", "Second", "Third"]


def test_a_section_that_fails_is_told_and_the_others_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    assert run([GOOD, BAD, LAST], QUICK, page, TITLES) == 1
    told = capsys.readouterr()
    assert "second failed: RuntimeError: no program" in told.err
    written = page.read_text()
    assert [line for line in written.splitlines() if line.startswith("## ")] == [
        *(f"## {t}" for t in TITLES), f"## {HOW}",
    ]  # fmt: skip
    assert "| until it failed | ≤ 2 | 3.00 | **missed** |" in written
    assert "failed: RuntimeError: no program &#124; after 20000 calls | **missed** |" in written
    assert written.count("| good | fine | ≤ 2 | 1.00 | met |") == 2
    assert written.count(f"{QUICK.rounds} rounds") == 2
    assert "missed: 2." in written
    assert "until it failed" in told.out.partition("Missed:")[2]


def test_a_section_measured_alone_leaves_the_others_and_the_anchors(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n\n## First\n\nof then\n\n## Third\n\nstale\n\n<!-- anchors -->\n\n## Anchoring\n")
    assert run([LAST], Effort(), page, TITLES) == 0
    written = page.read_text()
    assert "## First\n\nof then\n" in written
    assert "stale" not in written
    assert written.endswith("<!-- anchors -->\n\n## Anchoring\n")
    run([LAST], Effort(), page, TITLES)
    assert page.read_text().count("## Third") == 1


def test_an_older_document_is_kept_until_everything_is_measured() -> None:
    older = "# Benchmarks\n\n## Goals\n\n| a | b | c | met |\n"
    part = merge(older, TITLES, {"First": "one"})
    assert "## Goals\n\n| a | b | c | met |" in part
    assert "Goals met: 1" in part
    assert "## Goals" not in merge(part, TITLES, {"Second": "two", "Third": "three"})


def test_every_section_can_be_imported_and_takes_an_effort() -> None:
    for section in SECTIONS:
        module, _, name = section.function.partition(":")
        function = getattr(import_module(module), name)
        assert "effort" in function.__annotations__, section.name
