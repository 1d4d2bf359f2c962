"""The contract's own server, as a client meets it: a real process, frames on its stdin and stdout."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.comments.workspaces import CONTRACT, contract_workspace

PROGRAM = "import sys; from postil.surfaces.shell import paired_comments; sys.exit(paired_comments())"


class Client:
    """Speaks to the server line by line; what it did not ask for is kept in `heard`."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.heard: list[dict[str, Any]] = []
        self._next = 0
        self._timer = threading.Timer(60, self.process.kill)
        self._timer.start()

    def send(self, method: str, **params: object) -> int:
        self._next += 1
        assert self.process.stdin
        self.process.stdin.write(
            json.dumps({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}) + "\n"
        )
        self.process.stdin.flush()
        return self._next

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the server ended"
        return json.loads(line)

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        wanted = self.send(method, **params)
        while True:
            frame = self.receive()
            if frame.get("id") == wanted:
                return frame
            self.heard.append(frame)

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()
        self._timer.cancel()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    contract_workspace(tmp_path)
    made = Client(tmp_path)
    made.ask("initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo={"name": "t", "version": "1"})
    yield made
    made.close()


def test_it_introduces_itself_as_the_contract_says(tmp_path: Path) -> None:
    contract_workspace(tmp_path)
    client = Client(tmp_path)
    result = client.ask("initialize", protocolVersion="1.0.0", capabilities={}, clientInfo={})["result"]
    info = CONTRACT["serverInfo"]
    assert result["serverInfo"] == {key: info[key] for key in ("name", "version", "vendor")}
    assert result["capabilities"] == CONTRACT["capabilities"]
    client.close()


def test_it_lists_exactly_the_contracts_tools_resources_and_prompts(client: Client) -> None:
    tools = client.ask("tools/list")["result"]["tools"]
    assert [(tool["name"], tool["inputSchema"]) for tool in tools] == [
        (tool["name"], tool["inputSchema"]) for tool in CONTRACT["tools"]
    ]
    prompts = client.ask("prompts/list")["result"]["prompts"]
    assert [(each["name"], each["arguments"]) for each in prompts] == [
        (each["name"], each["arguments"]) for each in CONTRACT["prompts"]
    ]
    templates = client.ask("resources/templates/list")["result"]["resourceTemplates"]
    assert [each["uriTemplate"] for each in templates] == [
        "comment://workspace/{filePath}.comments",
        "comment://workspace/tags/{tag}",
    ]
    fixed = {each["uri"] for each in client.ask("resources/list")["result"]["resources"]}
    assert fixed == {f"comment://workspace/{name}" for name in ("all", "orphaned", "ai-enriched")}


def test_answers_and_errors_have_the_contracts_shape(client: Client) -> None:
    exchange = CONTRACT["exchanges"][0]
    answer = client.ask("tools/call", **exchange["request"]["params"])["result"]
    assert answer["isError"] is False
    assert answer["content"][0]["text"].startswith("✅ Comment added successfully\n\nComment ID: c_")
    arguments = {**exchange["request"]["params"]["arguments"], "line": 999}
    error = client.ask("tools/call", name="add_comment", arguments=arguments)["error"]
    assert error["code"] == -32005
    assert error["message"] == exchange["error"]["error"]["message"]
    assert error["data"] == exchange["error"]["error"]["data"]
    found = client.ask("tools/call", name="get_file_comments", arguments={"filePath": "src/services/auth.ts"})
    assert found["result"]["metadata"] == {"filePath": "src/services/auth.ts", "commentCount": 1, "orphanedCount": 0}


def test_twenty_comments_sent_at_once_are_twenty(client: Client) -> None:
    sent = [
        client.send(
            "tools/call",
            name="add_comment",
            arguments={"filePath": "src/app.ts", "line": n + 1, "text": f"{n}", "tag": "NOTE"},
        )
        for n in range(20)
    ]
    answers = [client.receive() for _ in sent]
    assert sorted(each["id"] for each in answers) == sent
    ids = {each["result"]["content"][0]["text"].split("Comment ID: ")[1].split("\n")[0] for each in answers}
    assert len(ids) == 20
    body = client.ask("resources/read", uri="comment://workspace/src/app.ts.comments")["result"]["contents"][0]
    assert body["mimeType"] == "application/json"
    assert {each["id"] for each in json.loads(body["text"])["comments"]} == ids


def test_a_subscriber_is_notified(client: Client) -> None:
    uri = "comment://workspace/src/app.ts.comments"
    client.ask("resources/subscribe", uri=uri)
    client.ask(
        "tools/call",
        name="add_comment",
        arguments={"filePath": "src/app.ts", "line": 1, "text": "hear", "tag": "NOTE"},
    )
    frame = client.heard.pop() if client.heard else client.receive()
    assert frame == {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}


def test_a_prompt_is_a_users_message(client: Client) -> None:
    result = client.ask("prompts/get", name="review_code", arguments={"filePath": "src/app.ts"})["result"]
    (message,) = result["messages"]
    assert (message["role"], message["content"]["type"]) == ("user", "text")
    assert "```typescript" in message["content"]["text"]
