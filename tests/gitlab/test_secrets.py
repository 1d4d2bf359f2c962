"""Everything is called, well and badly, and everything that was said about it is searched for secrets. S14."""

from __future__ import annotations

import json
import logging
import traceback
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from redis import Redis

from postil.core.failure import Failure
from postil.core.operation import Operation
from postil.storage.ephemeral import MemoryEphemeralStore
from tests.emulator.app import Emulator
from tests.emulator.faults import KINDS
from tests.emulator.world import DEVELOPER
from tests.gitlab.answers import direct, text
from tests.gitlab.calls import CALLS, ENTRIES, HOOK_TOKEN
from tests.gitlab.conftest import Connect
from tests.gitlab.http_server import postil
from tests.gitlab.test_over_http import asked, post
from tests.storage.redis_server import redis_server

SIGNS = ("glpat-", "gloas-", "glcbt-", "glrt-", "whsec_", "private-token", "oauth2:", "traceback (most")
LOGGED = "glcbt-64_in-the-log-of-a-job"
SIGNING_KEY = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
QUICK = ("400", "422", "echo", "html", "odd", "truncated", "extra", "redirect-other", "cookie")


def found(said: str) -> list[str]:
    """What must not be there, with what stands before it."""
    lowered = said.lower()
    return [said[max(0, lowered.find(sign) - 60) :][:90] for sign in SIGNS if sign in lowered]


def plant(emulator: Emulator) -> None:
    """A secret where GitLab itself shows one: in the log of a failed job."""
    for job in emulator.world.projects[0].jobs:
        job["trace"] = f"{job['trace']}export CI_JOB_TOKEN={LOGGED}\n"


def test_the_search_finds_what_it_looks_for() -> None:
    for secret in (DEVELOPER, HOOK_TOKEN, SIGNING_KEY, LOGGED, "https://oauth2:x@host", "PRIVATE-TOKEN: x"):
        assert found(f"some words {secret} more")


def failed(error: Exception) -> str:
    """All that can be seen of a failure, its traceback included, which may name files but hold no values."""
    trace = "".join(traceback.format_exception(error)).replace("Traceback (most recent call last)", "")
    told: Any = getattr(error, "text", lambda: "")()
    return "\n".join([trace, str(error), repr(error), repr(vars(error)), str(told)])


@pytest.mark.anyio
@pytest.mark.parametrize("fault", ["none", *(kind for kind in KINDS if kind != "slow")])
async def test_no_answer_error_log_or_key_of_the_cache_holds_a_secret(
    connect: Connect, emulator: Emulator, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    caplog.set_level(logging.DEBUG)
    plant(emulator)
    part = connect()
    if fault != "none":
        emulator.faults.add(fault)
    said: list[str] = []
    refused: list[str] = []
    for name, arguments in CALLS.items():
        operation = Operation(part.method(name))
        kept = {"cache": True} if "cache" in operation.arguments.__struct_fields__ else {}
        try:
            answer = await operation.run(**operation.decode({**arguments, **kept}))
        except Failure as error:
            refused.append(name)
            said.append(failed(error))
        else:
            said += [json.dumps(direct(answer)), repr(answer), text(answer), str(answer.for_person())]
            said.append(msgspec.json.encode(answer).decode())
    assert fault != "none" or not refused, refused
    assert len(emulator.seen) >= 20, "the calls went out"
    assert "httpcore2" in caplog.text or "httpx2" in caplog.text, "the client's own log is searched too"
    ephemeral = vars(part.context.connection.cache)["_ephemeral"]
    assert isinstance(ephemeral, MemoryEphemeralStore)
    keys: list[Any] = [
        *vars(ephemeral)["_kept"],
        *vars(part.context.connection)["_issues"],
        *vars(part.context.connection)["_projects"],
    ]
    assert keys or fault != "none"
    for words in (*said, caplog.text, repr(keys), repr(part), repr(part.context.connection.instance)):
        assert found(words) == []


def test_a_server_says_no_secret_on_any_way_out(
    address: str, emulator: Emulator, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    call_everything(address, emulator, tmp_path, str(home / "state.db"), QUICK)
    assert found("".join(capfd.readouterr())) == []
    assert (home / "state.db").exists()
    assert leaks(home) == {}


def test_redis_never_holds_a_secret(address: str, emulator: Emulator, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    with redis_server() as server:
        call_everything(address, emulator, tmp_path, server.address, ("extra", "echo"))
        with Redis(unix_socket_path=str(server.socket)) as client:
            kept = {key: client.dump(key) for key in cast("list[bytes]", client.keys())}  # pyright: ignore[reportUnknownMemberType]
        assert sum(key.startswith(b"postil:kept:gitlab:") for key in kept) > 10, "answers of GitLab are kept there"
        assert found(repr(kept)) == []
        assert any(server.folder.rglob("*.aof"))
        assert leaks(server.folder) == {}  # every command that ever changed something, what has expired since too
    assert leaks(tmp_path / "home") == {}


def leaks(folder: Path) -> dict[str, list[str]]:
    """The files below a folder that hold something secret."""
    files = {file.name: found(file.read_bytes().decode("latin-1")) for file in folder.rglob("*") if file.is_file()}
    return {name: secrets for name, secrets in files.items() if secrets}


def call_everything(address: str, emulator: Emulator, tmp_path: Path, state: str, faults: Sequence[str]) -> None:
    """Every operation on every way in, well and badly, and all that was answered and logged searched."""
    plant(emulator)
    (tmp_path / "key").write_text(SIGNING_KEY)
    (tmp_path / "postil.toml").write_text(
        f'[security]\nwebhook_key_files = ["{tmp_path / "key"}"]\n[limits]\nper_minute = 0\n[http]\noperators = ["*"]\n'
    )
    home = tmp_path / "home"
    environ = {
        "POSTIL_CONFIG": str(tmp_path / "postil.toml"),
        "POSTIL_STATE": state,
        "XDG_STATE_HOME": str(home),
        "XDG_CACHE_HOME": str(home),
        "PYTHONASYNCIODEBUG": "1",  # asyncio logs slow and broken tasks by name and arguments
    }
    errors = tmp_path / "errors"
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    said: list[Any] = []
    with postil(address, workspace, errors=errors, environ=environ) as endpoint:
        for fault in ("", *faults):
            emulator.faults.active.clear()
            if fault:
                emulator.faults.add(fault, path="/projects")  # and never who the token belongs to
            calls = [(name, arguments) for name, arguments in CALLS.items() if name != "connect_gitlab"]
            calls = [
                (name, {**given, **({"cache": True} if ENTRIES[name].open_world else {})}) for name, given in calls
            ]
            said.append(post(endpoint, [asked(name, number, **given) for number, (name, given) in enumerate(calls)]))
            tools = [(name, given) for name, given in calls if ENTRIES[name].tool]
            said += [post(endpoint, asked("tools/call", name=name, arguments=given)) for name, given in tools]
            if not fault:
                assert all("result" in answer for answer in said[0]), said[0]
        said.append(post(endpoint, asked("get_project", project_id=123), "glpat-nobody-knows-this"))
        hook = endpoint.replace("/mcp", "/webhooks/gitlab")
        said.append(post(hook, {"ref": "x"}, **{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": SIGNING_KEY}))
        metrics = urllib.request.Request(endpoint.replace("/mcp", "/metrics"))
        metrics.add_header("Authorization", f"Bearer {DEVELOPER}")
        with urllib.request.urlopen(metrics, timeout=20) as response:
            shown = response.read().decode()
            said.append(shown)
    assert "postil_gitlab_verifications_total" in shown
    assert found(json.dumps(said)) == []
    assert "serving http://" in errors.read_text("utf-8")
    assert found(errors.read_text("utf-8")) == []
