"""One workspace on three hosts: any of them answers, one writes; one that is killed or paused costs no write."""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosting.campaign import make_trouble
from tests.hosting.hosts import Hosts, find_holder, find_numbers
from tests.storage.postgres_server import PostgresServer, postgres_server


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def hosts(tmp_path: Path, postgres: PostgresServer) -> Iterator[Hosts]:
    postgres.clear()
    made = Hosts(tmp_path, postgres)
    yield made
    made.close()


def add(hosts: Hosts, number: int, n: int, key: str = "") -> tuple[int, object]:
    return hosts.ask(
        number, "add_comment", {"filePath": "a.py", "line": n, "text": f"write {n}"}, key=key or f"key-{n}"
    )


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_any_host_answers_and_the_next_holder_has_all_of_it(hosts: Hosts, postgres: PostgresServer) -> None:
    for n in range(1, 4):
        assert add(hosts, n % 3, n)[0] == 200
    created = hosts.until_done(1, "git_mile_create", {"title": "write 4"}, key="issue")
    holder = find_holder(hosts, postgres)
    others = [number for number in range(3) if number != holder]
    initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    assert hosts.ask(others[0], "initialize", initialize)[0] == 200
    # An orderly end gives the lease back at once.
    assert hosts.end(holder) == 143
    shown = hosts.until_done(others[0], "git_mile_show", {"entity": "issue", "id": created["id"]})
    assert shown["title"] == "write 4"
    assert find_holder(hosts, postgres) != holder
    repeated = hosts.until_done(others[1], "git_mile_create", {"title": "write 4"}, key="issue")
    assert repeated["id"] == created["id"], "the same key gives the same answer on another host"
    assert sorted(find_numbers(hosts, find_holder(hosts, postgres))) == [1, 2, 3, 4]
    verified = subprocess.run(
        ["git", "for-each-ref", "refs/postil/workspaces/team-one"],
        cwd=hosts.bare, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert verified.stdout


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_a_paused_holder_that_wakes_up_is_fenced_off(hosts: Hosts, postgres: PostgresServer) -> None:
    assert add(hosts, 0, 1)[0] == 200
    holder = find_holder(hosts, postgres)
    other = (holder + 1) % 3
    hosts.pause(holder)
    hosts.until_done(other, "add_comment", {"filePath": "a.py", "line": 2, "text": "write 2"}, key="key-2")
    assert find_holder(hosts, postgres) != holder
    hosts.go_on(holder)
    # It answers as any other host does: what it says is what the new holder has.
    result = hosts.until_done(holder, "comments_list", {})
    assert {"write 1", "write 2"} <= {*json.dumps(result).split('"')}
    assert find_holder(hosts, postgres) != holder


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_no_write_is_lost_doubled_or_denied_while_hosts_are_killed_and_paused(
    hosts: Hosts, postgres: PostgresServer
) -> None:
    told = make_trouble(hosts, postgres, 40, 3, random.Random(16))
    assert (told.lost, told.doubled, told.falsely_denied) == (0, 0, 0), told
    assert told.acknowledged
    assert told.kills + told.pauses == 3


def test_a_workspace_exists_for_its_members_alone(hosts: Hosts) -> None:
    def ask(who: str, path: str, **headers: str) -> tuple[int, object]:
        return hosts.ask(0, "tools/list", {}, who=who, path=path, headers=headers)

    assert ask("member", "/w/team-one/mcp")[0] == 200
    nothing = ask("stranger", "/w/nothing/mcp")
    assert nothing[0] == 404
    assert ask("stranger", "/w/team-one/mcp") == nothing
    assert ask("nobody", "/w/team-one/mcp") == ask("nobody", "/w/nothing/mcp")
    # A forged seal opens nothing, and tells nothing.
    forged = {"X-Postil-Forwarded": f"{int(time.time())} {'0' * 64}"}
    assert ask("stranger", "/w/team-one/mcp", **forged) == nothing
    assert ask("nobody", "/w/team-one/mcp", **forged) == ask("nobody", "/w/nothing/mcp", **forged)
    odd = {**forged, "Content-Type": "text/plain"}
    assert ask("stranger", "/w/team-one/mcp", **odd) == ask("stranger", "/w/nothing/mcp", **odd)
    # Who may read only does not see what writes.
    tools = hosts.ask(0, "tools/list", {}, who="reader")[1]["result"]["tools"]
    names = {tool["name"] for tool in tools}
    assert "comments_list" in names
    assert "add_comment" not in names
    assert (
        hosts.ask(0, "add_comment", {"filePath": "a.py", "line": 1, "text": "x"}, who="reader")[1]["error"]["code"]
        == -32601
    )


def test_a_request_that_another_host_let_in_is_answered_by_the_holder_with_its_credential(
    hosts: Hosts, postgres: PostgresServer
) -> None:
    assert add(hosts, 0, 1)[0] == 200
    other = (find_holder(hosts, postgres) + 1) % 3
    connection = http.client.HTTPConnection("127.0.0.1", hosts.ports[other], timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "comments_list", "params": {}})
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {hosts.keys['reader']}"}
    connection.request("POST", "/w/team-one/mcp", body, headers)
    answer = connection.getresponse()
    assert (answer.status, "write 1" in answer.read().decode()) == (200, True)
    connection.close()
