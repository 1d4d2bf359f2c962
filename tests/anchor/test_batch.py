"""Relocating in bulk: one JSON object a line in, one out, in order."""

import json
import subprocess
import sys
from io import BytesIO, TextIOWrapper

import pytest

from postil.anchor import evidence
from postil.anchor.batch import Request, answer_all, main
from postil.anchor.syntax import languages
from postil.anchor.weights import trees


def test_answers_come_in_order_one_anchor_a_line() -> None:
    requests = [Request(old="a = 1\nb = 2\n", new="b = 2\n", lines=[1, 2]), Request(old="c\n", new="c\n", lines=[1])]
    first, second = answer_all(requests)
    assert [(each.line, each.state) for each in first.anchors][1] == (1, "moved")
    assert [(each.line, each.state) for each in second.anchors] == [(1, "exact")]


def test_the_module_speaks_lines_of_json() -> None:
    request = {"old": "x = 1\ny = 2\n", "new": "\nx = 1\ny = 2\n", "old_path": "a.py", "new_path": "a.py", "lines": [2]}
    done = subprocess.run(
        [sys.executable, "-m", "postil.anchor.batch"], input=json.dumps(request) + "\n", capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    (anchor,) = json.loads(done.stdout)["anchors"]
    assert (anchor["line"], anchor["state"]) == (3, "moved")


@pytest.mark.parametrize("junk", [b"junk", b'{"old":"\xff"}', b'{"x":' + b"[" * 100_000])
@pytest.mark.parametrize("module", [["postil.anchor.batch"], ["postil", "comments", "relocate", "--batch"]])
def test_a_line_that_is_no_request_is_named_after_the_answers_before_it(module: list[str], junk: bytes) -> None:
    good = json.dumps({"old": "x = 1\n", "new": "x = 1\n", "lines": [1]}).encode()
    done = subprocess.run([sys.executable, "-m", *module], input=good + b"\n\n" + junk + b"\n", capture_output=True)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr.removeprefix(b"error: ").startswith(b"Line 3 is no request: ")
    assert b"Traceback" not in done.stderr


def test_the_trees_were_made_for_these_measures() -> None:
    assert list(evidence.MEASURES) == trees.NAMES


def test_a_large_text_keeps_its_syntax_though_there_is_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_lifted", list[bool]())
    monkeypatch.setattr(languages, "_workers", list[languages.Worker]())
    text = "".join(f"def function_{number}(value):\n    return value + {number}\n\n\n" for number in range(2_000))
    assert languages.parse_kept.__wrapped__(text, "python") is None, "it is a worker's"
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"")))
    main()
    assert languages.parse_kept.__wrapped__(text, "python") is not None
