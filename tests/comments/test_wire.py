"""The contract, frame by frame, over the real server's stdin and stdout; and who is told of what, and when."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.comments.client import Client
from tests.comments.workspaces import CONTRACT, commit, write
from tests.workspace.repositories import git

AUTH, APP = "src/services/auth.ts", "src/app.ts"
DAMAGED = {"filePath", "commentFile", "problem", "suggestion"}


def plain(frame: object) -> Any:
    """A frame without what differs from call to call: ids of comments and times."""
    text = json.dumps(frame, ensure_ascii=False)
    text = re.sub(r"(c|gm)_\d+", r"\1_0", text)
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text))


def example(method: str, name: str = "") -> dict[str, Any]:
    return next(
        each
        for each in CONTRACT["exchanges"]
        if each["request"]["method"] == method and each["request"]["params"].get("name", "") == name
    )


def call(client: Client, name: str, **arguments: object) -> dict[str, Any]:
    return client.ask("tools/call", name=name, arguments=arguments)


def added(client: Client, path: str, line: int, text: str, **more: object) -> str:
    frame = call(client, "add_comment", filePath=path, line=line, text=text, **{"tag": "NOTE", **more})
    return frame["result"]["content"][0]["text"].split("Comment ID: ")[1].split("\n")[0]


def test_the_life_of_a_comment_is_answered_frame_by_frame_as_the_contract_shows(client: Client) -> None:
    identity = ""
    for name in ("add_comment", "edit_comment", "move_comment"):
        shown = example("tools/call", name)
        arguments = {**shown["request"]["params"]["arguments"]}
        if name != "add_comment":
            arguments["commentId"] = identity
        answer = call(client, name, **arguments)["result"]
        identity = identity or answer["content"][0]["text"].split("Comment ID: ")[1].split("\n")[0]
        assert plain(answer["content"]) == plain(shown["response"]["result"]["content"])
        assert answer.keys() == {"content", "isError"}
        assert answer["isError"] is False
    shown = example("tools/call", "delete_comment")
    again = added(client, AUTH, 42, "once more")
    answer = call(client, "delete_comment", filePath=AUTH, commentId=again)["result"]
    assert plain(answer["content"]) == plain(shown["response"]["result"]["content"])


def test_metadata_stands_beside_the_content(client: Client) -> None:
    added(client, AUTH, 42, "TODO: rate limit", tag="TODO", aiMeta={"model": "m"})
    for name in ("search_comments", "get_file_comments", "export_comments"):
        shown = example("tools/call", name)
        answer = client.ask("tools/call", **shown["request"]["params"])["result"]
        assert answer["metadata"].keys() == shown["response"]["result"]["metadata"].keys()
        assert [block["type"] for block in answer["content"]] == [
            block["type"] for block in shown["response"]["result"]["content"]
        ]
    assert answer["content"][0]["resource"].keys() == {"uri", "mimeType", "text"}


def test_resources_and_prompts_are_read_as_the_contract_shows(client: Client) -> None:
    added(client, APP, 1, "one")
    shown = example("resources/read")
    (content,) = client.ask("resources/read", **shown["request"]["params"])["result"]["contents"]
    assert content["mimeType"] == "application/json"
    assert {"files", "totalComments"} <= json.loads(content["text"]).keys()
    prompt = example("prompts/get", "review_code")
    (message,) = client.ask("prompts/get", **prompt["request"]["params"])["result"]["messages"]
    head, tail = prompt["response"]["result"]["messages"][0]["content"]["text"].split("[Source code from " + AUTH + "]")
    assert message["role"] == "user"
    assert message["content"]["text"].startswith(head)
    assert message["content"]["text"].endswith(tail)


@pytest.mark.parametrize(
    ("code", "name", "arguments", "keys"),
    [
        (-32001, "add_comment", {"filePath": "no.ts", "line": 1}, {"filePath", "suggestion", "workspaceRoot"}),
        (-32002, "edit_comment", {"filePath": APP, "commentId": "c_9999999"}, {"filePath", "commentId", "suggestion"}),
        (-32003, "add_comment", {"filePath": "../no.ts", "line": 1}, {"filePath", "reason", "suggestion"}),
        (-32004, "add_comment", {"filePath": "out.ts", "line": 1}, {"filePath", "reason", "suggestion"}),
        (-32005, "add_comment", {"filePath": APP, "line": 999}, {"filePath", "line", "fileLineCount", "suggestion"}),
        (-32006, "add_comment", {"filePath": "broken.ts", "line": 2}, {"filePath", "parseError", "suggestion"}),
        (-32007, "add_comment", {"filePath": "bad.ts", "line": 1}, DAMAGED),
    ],
)  # fmt: skip
def test_every_error_has_its_code_and_its_data(
    client: Client, tmp_path: Path, code: int, name: str, arguments: dict[str, object], keys: set[str]
) -> None:
    write(tmp_path, "broken.ts", "function f() {\n  return (1 +;\n}\n")
    write(tmp_path, "bad.ts", "const a = 1;\n")
    write(tmp_path, "bad.ts.comments", b"{")
    outside = write(tmp_path.parent, f"{tmp_path.name}-evil/x.ts", "const a = 1;\n")
    (tmp_path / "out.ts").symlink_to(outside)
    wanted = {"text": "x", **({"tag": "NOTE"} if name == "add_comment" else {}), **arguments}
    error = call(client, name, **wanted)["error"]
    assert error["code"] == code
    assert error["data"].keys() == keys
    for shown in CONTRACT["errors"]:
        if shown["code"] == code:
            assert error["message"] == shown["message"]
            assert error["data"].keys() >= shown["data"].keys()


@pytest.mark.parametrize(
    ("prompt", "argument", "typed", "offered"),
    [
        ("review_code", "focus", "per", ["performance"]),
        ("review_code", "filePath", "src/serv", [AUTH, "src/services/security/auth.ts"]),
        ("explain_complexity", "filePath", "login", ["src/api/login.ts"]),
        ("explain_complexity", "complexityThreshold", "", ["5", "10", "15", "20"]),
        ("training_export", "includeContext", "t", ["true"]),
        ("fix_orphans", "filePath", "", [APP]),
    ],
)
def test_every_argument_of_a_prompt_completes(
    client: Client, prompt: str, argument: str, typed: str, offered: list[str]
) -> None:
    added(client, APP, 1, "here")
    asked = {"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": argument, "value": typed}}
    assert client.ask("completion/complete", **asked)["result"]["completion"]["values"] == offered


class Listener:
    """Hears notifications of a client's server, and how long each took."""

    def __init__(self, client: Client, *names: str) -> None:
        self._client = client
        for name in names:
            assert client.ask("resources/subscribe", uri=f"comment://workspace/{name}")["result"] == {}

    def hears(self, count: int, seconds: float = 5.0) -> set[str]:
        """The addresses told of: a second is promised, and this machine may be busy. None is told twice."""
        told: list[str] = []
        deadline = time.monotonic() + seconds
        while len(told) < count and time.monotonic() < deadline:
            self._client.ask("ping")  # whatever was told before its answer is in `heard` then
            told += [frame["params"]["uri"] for frame in self._client.heard]
            self._client.heard.clear()
        assert len(told) == len(set(told))
        return {uri.removeprefix("comment://workspace/") for uri in told}


def test_whoever_changes_what_subscribers_of_just_that_are_told(client: Client, tmp_path: Path) -> None:
    added(client, APP, 60, "about app59", tag="TODO", aiMeta={"model": "m"})
    added(client, AUTH, 42, "quiet")
    commit(tmp_path, "commented")
    source = (tmp_path / APP).read_text()
    listener = Listener(client, "all", f"{APP}.comments", "tags/TODO", "orphaned", "ai-enriched", f"{AUTH}.comments")
    about_app = {"all", f"{APP}.comments", "tags/TODO", "ai-enriched"}

    write(tmp_path, APP, "// a line above\n" + source)  # an editor
    assert listener.hears(4) == about_app
    git(tmp_path, "checkout", "-q", "--", APP)  # git
    assert listener.hears(4) == about_app
    path = tmp_path / f"{APP}.comments"
    path.write_bytes(path.read_bytes().replace(b"about app59", b"about another"))  # another program
    assert listener.hears(4) == about_app
    path.write_bytes(path.read_bytes() + b"\n")  # nothing that was said
    (tmp_path / APP).unlink()
    assert listener.hears(5) == about_app | {"orphaned"}
    git(tmp_path, "checkout", "-q", "--", ".")
    assert listener.hears(5) == about_app | {"orphaned"}
    git(tmp_path, "checkout", "-q", "-b", "other")
    assert listener.hears(1, 0.3) == set()  # the same files
    write(tmp_path, "src/unrelated.ts", "const x = 1;\n")
    assert listener.hears(1, 0.3) == set()


def test_a_comment_in_no_resource_of_a_subscriber_tells_nobody(client: Client) -> None:
    listener = Listener(client, "tags/FIXME", "orphaned", "ai-enriched", f"{AUTH}.comments")
    added(client, APP, 3, "a note")
    assert listener.hears(1, 0.3) == set()
    added(client, AUTH, 3, "a note here")
    assert listener.hears(1) == {f"{AUTH}.comments"}
    for name in ("tags/FIXME", f"{AUTH}.comments"):
        client.ask("resources/unsubscribe", uri=f"comment://workspace/{name}")
    added(client, AUTH, 4, "nobody listens any more")
    assert listener.hears(1, 0.3) == set()
