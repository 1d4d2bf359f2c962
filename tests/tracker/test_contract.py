"""The contract's server, frame by frame: what `git mile mcp-server` says on the wire."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from postil import __version__
from postil.tracker import events as ev
from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.programs import git

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "docs/reference/examples/mcp-session-list-show.json"
ALPHA = "8903a9b6-55ac-4b80-a4cb-9d3c5aa8a5b1"
BETA = "5c1b2f0e-3f57-4b0e-8f0a-2d8f2f9e6a11"
FIRST = "0d6e1d5c-7a57-4a52-9d3c-0d2c0cfe0001"
RECORD = "POSTIL_RECORD" in os.environ
MOMENT = datetime.datetime(2024, 10, 25, 9, 17, tzinfo=datetime.UTC)


@pytest.fixture
def milestones(repository: Path) -> Path:
    store = Store(find_repository(str(repository)), now=lambda: MOMENT)
    with store.transaction() as tx:
        tx.write(ev.Created, BETA, kind="milestone", title="Milestone Beta", labels=("beta",))
        tx.write(
            ev.Created,
            ALPHA,
            kind="milestone",
            title="Milestone Alpha",
            description="First milestone",
            labels=("alpha",),
        )
        for i in range(3):
            tx.write(
                ev.Created,
                FIRST[:-1] + str(i),
                kind="issue",
                title=f"Issue {i}",
                milestone=ALPHA,
                status="closed" if i == 2 else "open",
            )
        tx.write(ev.Commented, ALPHA, c="kickoff-comment-0001", body="kickoff")
    return repository


PROGRAM = "import sys; from postil.surfaces.shell.main import git_mile; sys.exit(git_mile())"


def talk(where: Path, *frames: dict[str, Any] | str, code: str = PROGRAM) -> list[dict[str, Any]]:
    """Send frames to a real `git mile mcp-server`, close its stdin and read what it answered."""
    sent = "".join((frame if isinstance(frame, str) else json.dumps(frame)) + "\n" for frame in frames)
    done = subprocess.run(
        [sys.executable, "-c", code, "mcp-server"],
        input=sent,
        cwd=where,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(id_: int, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    frame: dict[str, Any] = {"jsonrpc": "2.0", "id": id_, "method": method}
    return frame if params is None else {**frame, "params": params}


def call(id_: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return request(id_, "tools/call", {"name": tool, "arguments": arguments})


INITIALIZE = request(
    1,
    "initialize",
    {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "mcp-inspector", "version": "0.5.1"}},
)
SESSION = [
    INITIALIZE,
    request(2, "tools/list"),
    call(
        3,
        "git_mile.list",
        {
            "entity": "milestone",
            "filter": 'status == "open"',
            "sort": ["updated:desc"],
            "limit": 20,
            "includeClosed": False,
        },
    ),
    call(4, "git_mile.show", {"entity": "milestone", "id": ALPHA}),
    request(5, "shutdown"),
]


def by_id(answers: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {answer["id"]: answer for answer in answers}


def payload(answer: dict[str, Any]) -> Any:
    assert answer["result"]["isError"] is False
    (content,) = answer["result"]["content"]
    assert content["type"] == "text"
    return json.loads(content["text"])


def test_the_reference_session_is_answered_frame_by_frame(milestones: Path):
    answers = by_id(talk(milestones, *SESSION))
    assert sorted(answers) == [1, 2, 3, 4, 5]
    assert answers[1]["result"] == {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "git-mile", "version": __version__},
        "instructions": "Provides git-mile listing (`git_mile.list`) and details (`git_mile.show`) tools.",
    }
    tools = answers[2]["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["git_mile.list", "git_mile.show"]
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools)
    assert tools[0]["inputSchema"]["properties"]["limit"]["minimum"] == 1
    listed = payload(answers[3])
    assert listed["nextCursor"] is None
    alpha, beta = listed["items"]
    assert {key: alpha[key] for key in ("id", "title", "status", "labels")} == {
        "id": ALPHA,
        "title": "Milestone Alpha",
        "status": "open",
        "labels": ["alpha"],
    }
    assert alpha["stats"]["comment_count"] == 1
    assert alpha["stats"]["open_issues"] == 2
    assert (beta["stats"]["comment_count"], beta["stats"]["open_issues"]) == (0, 0)
    shown = payload(answers[4])
    assert (shown["id"], shown["title"], shown["status"]) == (ALPHA, "Milestone Alpha", "open")
    assert (shown["description"], shown["labels"]) == ("First milestone", ["alpha"])
    (comment,) = shown["comments"]
    assert (comment["author"], comment["body"]) == ("Tester", "kickoff")
    assert comment["ts"] == comment["timestamp"] == "2024-10-25T09:17:00Z"
    assert (shown["stats"]["comment_count"], shown["stats"]["open_issues"]) == (1, 2)
    assert answers[5]["result"] is None


def test_the_recorded_session_of_the_documentation_is_what_the_server_says(milestones: Path):
    answers = by_id(talk(milestones, *SESSION))
    recording: list[dict[str, Any]] = []
    for frame in SESSION:
        recording.append({"direction": "client", "payload": frame})
        recording.append({"direction": "server", "payload": answers[frame["id"]]})
    text = json.dumps(recording, indent=2, ensure_ascii=False) + "\n"
    if RECORD:
        RECORDED.parent.mkdir(parents=True, exist_ok=True)
        RECORDED.write_text(text)
    assert RECORDED.read_text() == text, "run this test with POSTIL_RECORD=1 and say so in the CHANGELOG under MCP"
    assert len(recording) >= 10


def failing(where: Path, tool: str, arguments: Any) -> dict[str, Any]:
    answers = by_id(talk(where, INITIALIZE, call(9, tool, arguments)))
    error = answers[9]["error"]
    assert error["data"]["isError"] is True
    (content,) = error["data"]["content"]
    inner = json.loads(content["text"])["error"]
    return {"code": error["code"], "message": error["message"], "name": inner["code"], "data": error["data"]}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"entity": "epic"},
        {"entity": "issue", "limit": 0},
        {"entity": "issue", "limit": "ten"},
        {"entity": "issue", "colour": "red"},
        {"entity": "issue", "sort": "updated"},
        ["issue"],
    ],
)
def test_arguments_that_cannot_be_decoded_are_invalid_requests(milestones: Path, arguments: Any):
    failure = failing(milestones, "git_mile.list", arguments)
    assert (failure["code"], failure["name"]) == (-32600, "InvalidRequest")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("git_mile.list", {"entity": "issue", "filter": "status == "}),
        ("git_mile.list", {"entity": "issue", "filter": "(= nope 1)"}),
        ("git_mile.list", {"entity": "issue", "sort": ["labels"]}),
        ("git_mile.list", {"entity": "issue", "sort": ["updated:down"]}),
        ("git_mile.list", {"entity": "issue", "cursor": "not-a-cursor"}),
        ("git_mile.show", {"entity": "issue", "id": "not an id"}),
        ("git_mile.show", {"entity": "issue", "id": "ffffffff-ffff-4fff-8fff-ffffffffffff"}),
        ("git_mile.show", {"entity": "issue", "id": ALPHA}),
        ("git_mile.show", {"entity": "issue", "id": "0d6e1d5c"}),
    ],
)
def test_decoded_values_that_are_not_valid_are_invalid_params(milestones: Path, tool: str, arguments: Any):
    failure = failing(milestones, tool, arguments)
    assert (failure["code"], failure["name"]) == (-32602, "InvalidParams")


def test_a_bad_filter_says_where_and_what_was_meant(milestones: Path):
    data = failing(milestones, "git_mile.list", {"entity": "issue", "filter": "statsu == open"})["data"]
    assert (data["position"], data["suggestion"]) == (0, "did you mean `status`?")


def test_a_broken_repository_is_a_server_error_in_one_line(milestones: Path):
    git_dir = milestones / ".git"
    (git_dir / "HEAD").unlink()
    for tool, arguments in (
        ("git_mile.list", {"entity": "issue"}),
        ("git_mile.show", {"entity": "issue", "id": FIRST}),
    ):
        failure = failing(milestones, tool, arguments)
        assert (failure["code"], failure["name"]) == (-32001, "ServerError")
        assert "No git repository" in failure["message"]
        assert "\n" not in failure["message"]


def test_a_bug_is_a_server_error_with_a_summary_and_the_server_goes_on(milestones: Path):
    bug = (
        "import sys; from postil.surfaces.shell.main import git_mile; from postil.tracker.issues import Issues\n"
        "def show(*_): raise ZeroDivisionError('two\\nlines')\n"
        "Issues.show = show; sys.exit(git_mile())"
    )
    show, listing = ("git_mile.show", {"entity": "milestone", "id": ALPHA}), ("git_mile.list", {"entity": "milestone"})
    answers = by_id(talk(milestones, INITIALIZE, call(2, *show), call(3, *listing), code=bug))
    assert answers[2]["error"]["code"] == -32001
    assert answers[2]["error"]["message"] == "Internal error: ZeroDivisionError: two lines"
    inner = json.loads(answers[2]["error"]["data"]["content"][0]["text"])
    assert inner == {"error": {"code": "ServerError", "message": "Internal error: ZeroDivisionError: two lines"}}
    assert len(payload(answers[3])["items"]) == 2


def test_a_mistyped_argument_is_told_which_was_meant(milestones: Path):
    data = failing(milestones, "git_mile.list", {"entity": "issue", "filtr": "x"})["data"]
    assert (data["path"], data["suggestion"]) == ("filtr", "Did you mean `filter`?")


def test_an_unknown_tool_is_method_not_found_and_says_its_name(milestones: Path):
    answers = by_id(talk(milestones, INITIALIZE, call(2, "git_mile.create", {"title": "x"})))
    assert answers[2]["error"]["code"] == -32601
    assert "git_mile.create" in answers[2]["error"]["message"]


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "resources/read", "sampling/createMessage"])
def test_what_the_contract_does_not_have_is_method_not_found(milestones: Path, method: str):
    answers = by_id(talk(milestones, INITIALIZE, request(2, method, {})))
    assert answers[2]["error"]["code"] == -32601


def test_ping_is_echoed_and_malformed_json_is_told(milestones: Path):
    answers = talk(milestones, INITIALIZE, request(2, "ping"), "{not json", request(3, "ping"))
    assert by_id([a for a in answers if a.get("id") is not None])[2]["result"] == {}
    assert any(a.get("error", {}).get("code") == -32700 for a in answers)
    assert by_id([a for a in answers if a.get("id") is not None])[3]["result"] == {}


def test_shutdown_ends_the_process_though_stdin_stays_open(milestones: Path):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "mcp-server"],
        cwd=milestones,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(INITIALIZE) + "\n" + json.dumps(request(2, "shutdown")) + "\n")
    process.stdin.flush()
    assert process.wait(timeout=20) == 0
    lines = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert by_id(lines)[2]["result"] is None
    process.stdin.close()
    process.stdout.close()


def served(where: Path, *flags: str, say: dict[str, Any] | None = None) -> tuple[int, str, str]:
    """Start a server, perhaps say one thing, keep its stdin open, and wait for its end: status, stdout, stderr."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "mcp-server", *flags],
        cwd=where,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if say is not None:
            process.stdin.write(json.dumps(say) + "\n")
            process.stdin.flush()
        status = process.wait(timeout=20)
        return status, process.stdout.read(), process.stderr.read()


def test_a_server_that_nobody_talks_to_ends_when_it_was_told_to(milestones: Path):
    status, out, told = served(milestones, "--handshake-timeout", "0.2")
    assert (status, out) == (1, "")
    assert "no client introduced itself within 0.2 s" in told


def test_an_idle_server_ends_after_answering_what_it_was_asked(milestones: Path):
    status, out, told = served(milestones, "--idle-shutdown=0.3", "--handshake-timeout=20", say=INITIALIZE)
    assert (status, json.loads(out)["id"], told) == (0, 1, "")


@pytest.mark.parametrize(
    ("level", "told", "untold"),
    [
        ("error", "", "error"),
        ("warn", "warn: -> error -32601", "debug"),
        ("info", "info: no request for 0.2 s", "debug"),
        ("debug", "debug: <- 'nonsense'", "trace"),
        ("trace", 'trace: <- {"jsonrpc"', "nothing"),
    ],
)
def test_the_log_level_says_what_is_told_on_stderr(milestones: Path, level: str, told: str, untold: str):
    status, _, said = served(
        milestones, "--log-level", level, "--idle-shutdown", "0.2", "--protocol", "v1", say=request(7, "nonsense")
    )
    assert (status, told in said, untold in said) == (0, True, False)


@pytest.mark.parametrize(
    "flags", [("--protocol", "v2"), ("--idle-shutdown", "0"), ("--handshake-timeout", "x"), ("--log-level", "loud")]
)
def test_a_flag_with_a_value_that_is_none_is_refused(milestones: Path, flags: tuple[str, str]):
    status, out, told = served(milestones, *flags)
    assert (status, out) == (2, "")
    assert f"Argument {flags[0]}" in told


def test_pages_follow_one_another_by_cursor(milestones: Path):
    seen: list[str] = []
    cursor = None
    for _ in range(5):
        arguments: dict[str, Any] = {"entity": "issue", "limit": 1, "includeClosed": True}
        if cursor is not None:
            arguments["cursor"] = cursor
        page = payload(by_id(talk(milestones, INITIALIZE, call(2, "git_mile.list", arguments)))[2])
        seen += [item["id"] for item in page["items"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert sorted(seen) == [FIRST[:-1] + str(i) for i in range(3)]


def test_a_server_started_outside_of_any_repository_says_so(tmp_path: Path):
    where = tmp_path / "nowhere"
    where.mkdir()
    answers = by_id(talk(where, INITIALIZE, call(2, "git_mile.list", {"entity": "issue"})))
    assert "epository" in answers[2]["error"]["message"]


def test_listing_leaves_no_trace_in_the_refs(milestones: Path):
    before = git(milestones, "for-each-ref")
    talk(milestones, *SESSION)
    assert git(milestones, "for-each-ref") == before
