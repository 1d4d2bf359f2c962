"""Every operation that takes an id or a path: hostile ones never reach GitLab, all others stay on their route. S7."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Generator
from typing import Any
from urllib.parse import unquote

import httpx2
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.core.call import Call, Caller, enter
from postil.core.failure import Failure
from postil.core.operation import Operation
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.part import GitLab
from tests.emulator.app import Emulator
from tests.gitlab.calls import CALLS, ENTRIES, ROUTES
from tests.gitlab.groups import Groups
from tests.gitlab.http_server import postil
from tests.gitlab.test_over_http import asked, passed_on, post
from tests.gitlab.test_read_only import session

SIGNS = ["..", ".", "%2e%2e", "1/../2", "1?x=1", "1#", "1%00", "1\n", "\n", "9" * 300, "a/" + "b" * 300, "", "-1", "0"]
FILES = [
    "../../x",
    "a/../../b",
    "%2e%2e/x",
    "..",
    "a/./b",
    "/etc/passwd",
    "a//b",
    "a\\..\\b",
    "a\nb",
    "a\0b",
    "x" * 5000,
]
REFS = ["..", "a..b", "-x", "main\n", "main\0", "a b", "x" * 300]
HOSTILE: dict[str, list[Any]] = {
    "project_id": [*SIGNS, -1, 0, 2**63, 1.5, True, None, [1], {"id": 1}],
    **{
        name: [*SIGNS, -1, 0, 2**63, 1.5, True, [1]]
        for name in ("issue_iid", "issue_id", "merge_request_iid", "pipeline_id", "job_id")
    },
    "discussion_id": [sign for sign in SIGNS if sign not in ("0", "9" * 300)] + ["9" * 300, 5, [1]],
    "file_path": [*FILES, ".", "", 5],
    "path": [*(file for file in FILES if file != "/etc/passwd"), 5],  # a folder's first slash is the repository's root
    "ref": [*REFS, 5],
    "sha": [*REFS, 5],
}
PLAIN_REF = {"list_pipelines"}
"""Where `ref` only filters: it goes into the query, and any line of text is a good question."""


def properties(name: str) -> dict[str, Any]:
    return msgspec.json.decode(ENTRIES[name].input_schema)["properties"]


NAMED = [
    (name, field)
    for name in sorted(CALLS)
    for field in HOSTILE
    if field in properties(name) and not (field == "ref" and name in PLAIN_REF)
]


@pytest.fixture(scope="module")
def endpoint(served: tuple[Emulator, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with postil(served[1], tmp_path_factory.mktemp("workspace"), environ=unlimited(tmp_path_factory)) as url:
        yield url


@pytest.fixture(scope="module")
def headers(endpoint: str) -> dict[str, str]:
    """Of a session that may send batches of tools."""
    return session(endpoint)


def unlimited(folders: pytest.TempPathFactory) -> dict[str, str]:
    file = folders.mktemp("settings") / "postil.toml"
    file.write_text('[limits]\nper_minute = 0\n[gitlab]\ntoolsets = ["all"]\n')
    return {"POSTIL_CONFIG": str(file)}


def test_every_id_and_path_of_every_operation_is_tried() -> None:
    names = {field for name in CALLS for field in properties(name)}
    assert {field for field in names if field.endswith(("_id", "_iid", "path", "ref"))} - set(HOSTILE) == {
        "assignee_id"  # goes into the body or the query, as a number
    }
    assert {name for name, _ in NAMED} == set(CALLS) - {
        "connect_gitlab", "list_projects", "search_projects", "my_work", "whoami", "find_user",
    }  # fmt: skip


def hostile_calls(name: str, field: str) -> list[dict[str, Any]]:
    """The operation's good call with each hostile value in one field."""
    good = {key: value for key, value in CALLS[name].items() if not (name == "get_issue" and key == "issue_id")}
    required = msgspec.json.decode(ENTRIES[name].input_schema).get("required", ())
    blank = () if field in required else (None, "")  # of an argument that may be left out: as if it were
    return [{**good, field: value} for value in HOSTILE[field] if value not in blank]


@pytest.mark.parametrize(("name", "field"), NAMED)
def test_a_hostile_value_is_invalid_and_gitlab_hears_nothing(
    endpoint: str, emulator: Emulator, name: str, field: str
) -> None:
    calls = hostile_calls(name, field)
    batch = [asked(name, number, **arguments) for number, arguments in enumerate(calls)]
    for arguments, answer in zip(calls, post(endpoint, batch), strict=True):
        assert answer.get("error", {}).get("code") == -32602, (name, arguments, answer)
    assert passed_on(emulator) == []


@pytest.mark.parametrize(("name", "field"), [(name, field) for name, field in NAMED if ENTRIES[name].tool])
def test_a_tool_called_with_a_hostile_value_fails_and_gitlab_hears_nothing(
    endpoint: str, headers: dict[str, str], emulator: Emulator, name: str, field: str
) -> None:
    calls = hostile_calls(name, field)
    batch = [asked("tools/call", number, name=name, arguments=arguments) for number, arguments in enumerate(calls)]
    for arguments, answer in zip(calls, post(endpoint, batch, **headers), strict=True):
        assert answer.get("error", {}).get("code") == -32602, (name, arguments, answer)
    assert passed_on(emulator) == []


def test_the_good_value_beside_them_is_taken(endpoint: str, headers: dict[str, str], emulator: Emulator) -> None:
    """Otherwise the refusals above would prove nothing."""
    for name in sorted({name for name, _ in NAMED}):
        emulator.reset()
        answer = post(endpoint, asked(name, **CALLS[name]))
        assert "result" in answer, (name, answer)
        if not ENTRIES[name].tool:  # for the page alone
            continue
        emulator.reset()
        answer = post(endpoint, asked("tools/call", name=name, arguments=CALLS[name]), **headers)
        assert "result" in answer, (name, answer)
        assert answer["result"]["isError"] is False, (name, answer)


# -- the law: whatever is accepted stays on its route -----------------------------------------------------------------

LISTS = {"projects", "issues", "merge_requests", "pipelines", "jobs", "tree", "hooks", "notes", "discussions", "diffs"}
SEGMENT = r"(?!\.{1,2}(?:/|$))[A-Za-z0-9_.~%-]+"


class Recording(Instance):
    """An instance whose HTTP client is real, up to the bytes of the request line, and whose network is not."""

    def __init__(self) -> None:
        super().__init__("http://gitlab.example.com")
        self.lines: list[str] = []

    def open_client(self, transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
        return super().open_client(httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode("ascii").partition("?")[0]
        assert request.url.host == "gitlab.example.com"
        self.lines.append(f"{request.method} {path}")
        row: dict[str, Any] = {"id": 5, "iid": 7, "status": "failed", "last_commit_id": "abc123"}
        listed = request.method == "GET" and path.rpartition("/")[2] in LISTS
        return httpx2.Response(200, stream=httpx2.ByteStream(json.dumps([row] if listed else row).encode()))


def pattern(template: str) -> str:
    method, _, path = template.partition(" ")
    segments = [SEGMENT if part.startswith(":") else re.escape(part) for part in path.split("/")]
    return rf"{method} /api/{'/'.join(segments) if path == 'graphql' else 'v4/' + '/'.join(segments)}"


WORD = st.text(st.sampled_from("abz09._-/%?#&=\\ \n\0é:@;"), max_size=12)
NAME = st.one_of(
    WORD, st.sampled_from(SIGNS + FILES[:-1]), st.from_regex(r"[a-z0-9._-]{1,8}/[a-z0-9._-]{1,8}", fullmatch=True)
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "project_id": st.one_of(st.integers(-2, 2**64), NAME),
    "file_path": NAME,
    "path": NAME,
    "ref": st.one_of(WORD, st.just("main")),
    "discussion_id": st.one_of(WORD, st.text("0123456789abcdef", min_size=1, max_size=40)),
    "search": WORD,
    "source_branch": WORD,
    "target_branch": WORD,
    "sha": WORD,
    "base": WORD,
    "head": WORD,
    **{name: st.integers(-2, 2**64) for name in ("pipeline_id", "job_id")},
    **{name: st.one_of(st.integers(-2, 2**64), NAME) for name in ("issue_iid", "issue_id", "merge_request_iid")},
}


@pytest.mark.parametrize("name", sorted(CALLS))
@given(data=st.data())
@settings(max_examples=25)
def test_whatever_is_accepted_asks_for_the_operations_own_routes(name: str, data: st.DataObject) -> None:
    varied = {field: data.draw(VALUES[field], field) for field in sorted(properties(name)) if field in VALUES}
    if name == "get_issue":
        varied.pop(data.draw(st.sampled_from(["issue_id", "issue_iid"])))
    instance = Recording()
    part = Groups(GitLab(Connection(instance, lambda: "glpat-of-the-law")))
    operation = Operation(part.method(name))

    async def run() -> None:
        enter(Call(Caller("gitlab:somebody")))
        try:
            await operation.run(**operation.decode({**CALLS[name], **varied}))
        except Failure:
            return
        finally:
            await part.close()

    asyncio.run(run())
    for line in instance.lines:
        assert any(re.fullmatch(pattern(template), line) for template in ROUTES[name]), line
        project = re.match(r"\w+ /api/v4/projects/([^/]+)", line)
        if project is not None and isinstance(varied.get("project_id"), str) and not varied["project_id"].isdigit():
            assert unquote(project[1]) == varied["project_id"]
        file = re.fullmatch(r".*/repository/files/([^/]+)", line)
        if file is not None:
            assert unquote(file[1]) == varied["file_path"]
