"""Every operation that `make fairness` measures is answered: the time of a refusal says nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from postil.app import read_catalogue
from tests.fairness.__main__ import Caller
from tests.fairness.calls import DEAR, LEFT_OUT, list_calls, prepare, tick
from tests.surfaces.served import serve_http

LAST = ("delete_comment", "git_mile_close", "issue_move", "issue_delete")


def test_every_operation_is_asked_or_left_out_for_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    keys, ids = prepare(tmp_path / "work", 1, many=2)
    calls = [*DEAR, *((name, given(0, False)) for name, given in list_calls(ids))]
    asked = {name for name, _ in calls}
    assert asked | set(LEFT_OUT) == {e.name for e in read_catalogue().operations if e.tool and e.part != "gitlab"}

    async def ask(url: str) -> list[str]:
        caller, refused = Caller(url, keys[0]), list[str]()
        for name, given in sorted(calls, key=lambda each: LAST.index(each[0]) if each[0] in LAST else -1):
            answer = await caller.ask(name, given)
            if "result" not in answer:
                refused.append(f"{name} {given}: {answer['error']}")
        caller.close()
        return refused

    with serve_http(tmp_path / "work", "--auth", "key", "--toolset", "extra") as served:
        refused = asyncio.run(ask(served.url))
    assert not refused, "\n".join(refused)


def test_ticking_changes_something_with_every_call_and_makes_nothing_longer() -> None:
    done: dict[str, bool] = {}
    for hostile in (False, True):
        for number in range(40):
            given = tick(["a", "b", "c", "d"], number, hostile)
            assert done.get(given["id"], False) != given["done"]
            done[given["id"]] = given["done"]
    assert done == dict.fromkeys("abcd", False)
