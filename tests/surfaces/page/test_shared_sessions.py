"""The page over replicas: any of them serves a browser that another let in, and tells it what others did."""

from __future__ import annotations

import http.client
import json
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.storage.redis_server import RedisServer, redis_server
from tests.surfaces.page.pages import ServedPage, serve_page
from tests.surfaces.page.test_site import Client
from tests.surfaces.programs import run
from tests.workspace.repositories import new_repository

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def redis() -> Generator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def environ(redis: RedisServer) -> dict[str, str]:
    shared = {"POSTIL_STATE": redis.address, "POSTIL_EPHEMERAL": redis.address}
    return {**shared, "POSTIL_SECRET": "the same for all of them"}


@pytest.fixture
def key(repo: Path, environ: dict[str, str]) -> str:
    made = run("postil", "key", "create", "ann", "--workspace", "--json", cwd=repo, **environ)
    return str(json.loads(made.stdout)["key"])


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = new_repository(tmp_path / "repo", a__txt="one\n")
    (folder / "a.txt").write_text("two\n")
    return folder


@pytest.fixture
def pair(repo: Path, key: str, environ: dict[str, str]) -> Generator[tuple[ServedPage, ServedPage]]:
    with ExitStack() as stack:
        first, second = (stack.enter_context(serve_page(repo, "--auth", "key", **environ)) for _ in range(2))
        yield first, second


def at(served: ServedPage, known_as: ServedPage) -> Client:
    """A browser that a proxy leads to this replica: it knows the server by one name alone."""
    client = Client(served)
    client.base = known_as.base
    client.always["Host"] = known_as.base.removeprefix("http://")
    return client


def test_any_replica_serves_a_browser_that_another_let_in(pair: tuple[ServedPage, ServedPage], key: str) -> None:
    first, second = at(pair[0], pair[0]), at(pair[1], pair[0])
    address = first.ask("POST", "/open", Authorization=f"Bearer {key}").text
    token = address.partition("token=")[2]
    for _ in range(2):  # a mail scanner looks, and uses nothing up
        asked = second.enter(address)
        assert (asked.status, "Set-Cookie" in asked.headers, 'method="post"' in asked.text) == (200, False, True)
    entered = second.post("/open", {"token": token})
    assert entered.status == 200
    second.cookie = entered.headers["Set-Cookie"].partition(";")[0]
    assert first.post("/open", {"token": token}).status == 403  # once, wherever
    first.cookie = second.cookie
    assert "a.txt" in first.ask("GET", "/changes").text
    remark = {"file": "a.txt", "line": "1", "side": "R", "comment": "salt", "act": "now", "form-token": first.token()}
    assert second.post("/changes/remark", remark).status == 303  # a form that the other gave
    shown = first.ask("GET", "/inbox").text
    assert "salt" in shown
    assert "key:" in shown  # who wrote it
    assert "Sent" in shown  # what the other said
    assert second.post("/leave", {"form-token": second.token()}).status == 200
    assert first.ask("GET", "/changes").status == 401


def test_a_page_at_one_replica_hears_what_was_done_at_another(pair: tuple[ServedPage, ServedPage], key: str) -> None:
    first, second = at(pair[0], pair[0]), at(pair[1], pair[0])
    entered = first.post("/open", {"credential": key})
    first.cookie = second.cookie = entered.headers["Set-Cookie"].partition(";")[0]
    connection = http.client.HTTPConnection(pair[0].base.removeprefix("http://"), timeout=120)
    try:
        connection.request("GET", "/live?of=inbox", headers={"Cookie": first.cookie})
        stream = connection.getresponse()
        assert _read_event(stream) == ("ready", "inbox")
        remark = {"file": "a.txt", "line": "1", "side": "R", "comment": "x", "act": "now", "form-token": second.token()}
        assert second.post("/changes/remark", remark).status == 303
        assert _read_event(stream) == ("changed", "inbox")
        assert second.post("/leave", {"form-token": second.token()}).status == 200
        assert _read_event(stream)[0] == "ended"
    finally:
        connection.close()


def _read_event(stream: http.client.HTTPResponse) -> tuple[str, str]:
    """The next event of a stream."""
    name = ""
    while line := stream.readline().decode():
        if line.startswith("event: "):
            name = line[7:].strip()
        elif line.startswith("data: ") and name:
            return name, line[6:].strip()
    return "", ""
