"""Direct methods, batches and MCP over real HTTP, and both clients on the whole way to GitLab."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp_gitlab import AsyncMcpGitlabClient, McpGitlabClient, McpGitlabError
from mcp_gitlab.operations import Operations

from postil.app import read_catalogue
from tests.emulator.app import Emulator, Seen
from tests.emulator.world import DEVELOPER, READER, STRANGER
from tests.gitlab.calls import CALLS
from tests.gitlab.http_server import postil
from tests.needs import ROOT

CLIENT = ROOT / "clients" / "javascript"


@pytest.fixture(scope="module")
def endpoint(served: tuple[Emulator, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with postil(served[1], tmp_path_factory.mktemp("workspace")) as url:
        yield url


@pytest.fixture
def client(endpoint: str, emulator: Emulator) -> Generator[McpGitlabClient]:
    with McpGitlabClient(endpoint=endpoint, token=DEVELOPER) as made:
        yield made


def post(endpoint: str, body: object, token: str = DEVELOPER, **headers: str) -> Any:
    request = urllib.request.Request(endpoint, json.dumps(body).encode(), method="POST")
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", f"Bearer {token}")
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)
    except urllib.error.HTTPError as refused:
        with refused:
            return json.load(refused)


def passed_on(emulator: Emulator) -> list[Seen]:
    """The calls that GitLab saw, without the gateway's looking up whose token it is."""
    return [seen for seen in emulator.seen if not seen.path.endswith(("/self", "/user"))]


def asked(method: str, number: int = 1, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": number}


def test_a_direct_method_answers_as_in_the_contract(endpoint: str, emulator: Emulator, address: str) -> None:
    answer = post(endpoint, asked("list_projects", visibility="private"))
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
    assert answer["result"]["projects"] == [
        {
            "id": 123,
            "name": "My Project",
            "path": "my-project",
            "namespace": "username",
            "visibility": "private",
            "web_url": f"{address}/username/my-project",
        }
    ]
    assert answer["result"]["total_count"] == 1
    assert answer["result"]["data"] == answer["result"]["projects"]


def test_the_contracts_error_object_is_answered(endpoint: str, emulator: Emulator) -> None:
    error = post(endpoint, asked("get_project", project_id=999))["error"]
    assert (error["code"], error["message"]) == (-32000, "GitLab API Error")
    assert (error["data"]["status"], error["data"]["message"]) == (404, "Project not found")
    bad = post(endpoint, asked("list_issues", project_id=".."))["error"]
    assert bad["code"] == -32602
    missing = post(endpoint, asked("list_issues"))["error"]
    assert missing["code"] == -32602
    assert (missing["message"], missing["data"]["status"]) == ("Invalid params", 400)
    assert "project_id" in missing["data"]["message"]
    assert post(endpoint, asked("no_such_method"))["error"]["code"] == -32601


def test_a_batch_keeps_its_order_and_its_errors_apart(endpoint: str, emulator: Emulator) -> None:
    answers = post(
        endpoint,
        [
            asked("list_projects", 1),
            asked("list_issues", 2, project_id=123),
            asked("get_project", 3, project_id=999),
            asked("get_project", 4, project_id=123),
        ],
    )
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4]
    assert answers[2]["error"]["data"]["status"] == 404
    assert answers[3]["result"]["id"] == 123


def test_caching_is_asked_for_by_the_contracts_parameters(endpoint: str, emulator: Emulator) -> None:
    for _ in range(3):
        post(endpoint, asked("list_projects", cache=True, cache_ttl=300, search="my"))
    assert len(passed_on(emulator)) == 1


def test_gitlabs_own_limits_are_passed_on_under_their_own_names(endpoint: str, emulator: Emulator) -> None:
    request = urllib.request.Request(endpoint, json.dumps(asked("get_project", project_id=123)).encode(), method="POST")
    request.add_header("Content-Type", "application/json")
    request.add_header("Authorization", f"Bearer {DEVELOPER}")
    with urllib.request.urlopen(request, timeout=20) as response:
        assert response.headers["X-GitLab-RateLimit-Limit"] == "2000"
        assert response.headers["X-RateLimit-Limit"] == "600"


def test_standard_mcp_is_spoken_at_the_same_address(endpoint: str, emulator: Emulator) -> None:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    async def visit() -> None:
        headers = {"Authorization": f"Bearer {DEVELOPER}"}
        async with create_mcp_http_client(headers=headers) as http:
            async with Client(streamable_http_client(endpoint, http_client=http)) as session:
                tools = {tool.name: tool for tool in (await session.list_tools()).tools}
                listing = tools["list_issues"]
                assert listing.output_schema is None  # a model reads the text, and only once
                assert listing.annotations is not None
                assert listing.annotations.read_only_hint
                result = await session.call_tool("list_issues", {"project_id": 123})
                assert result.structured_content is None
                assert "#1 [opened] Issue title" in str(result.content)
                failed = await session.call_tool("get_project", {"project_id": 999})
                assert failed.is_error
                assert "Project not found" in str(failed.content)

    asyncio.run(visit())


def test_no_header_of_the_callers_names_another_gitlab(endpoint: str, emulator: Emulator) -> None:
    other = Emulator()
    from tests.emulator.server import running

    with running(other) as elsewhere:
        for name in ("X-GitLab-API-URL", "X-Gitlab-Url", "X-Forwarded-Host"):
            post(endpoint, asked("get_project", project_id=123), **{name: elsewhere})
    assert other.seen == []
    assert len(passed_on(emulator)) == 3


def test_each_caller_sees_what_their_own_token_may(endpoint: str, emulator: Emulator) -> None:
    assert "result" in post(endpoint, asked("get_project", project_id=123, cache=True))
    assert post(endpoint, asked("get_project", project_id=123, cache=True), STRANGER)["error"]["data"]["status"] == 404
    refused = post(endpoint, asked("create_issue", project_id=123, title="x"), READER)["error"]
    assert refused["code"] == -32000
    assert "api" in json.dumps(refused)


def test_the_contracts_python_snippet_works(endpoint: str, emulator: Emulator) -> None:
    client = McpGitlabClient(endpoint=endpoint, token=DEVELOPER)

    # List projects
    projects = client.list_projects(visibility="private")

    # Create issue
    issue = client.create_issue(project_id=123, title="New issue", description="Issue description")

    assert projects["projects"][0]["name"] == "My Project"
    assert projects.result.total_count == 1
    assert (issue.id, issue.result["iid"]) == (790, 2)
    client.close()


def test_the_python_client_has_a_method_for_every_operation_with_its_parameters(client: McpGitlabClient) -> None:
    for entry in read_catalogue(["gitlab"]).operations:
        if entry.name == "connect_gitlab":  # offered where there is no token, and a client always has one
            continue
        method = getattr(Operations, entry.name)
        ours = set(method.__kwdefaults__ or {}) | set(method.__annotations__) - {"return"}
        listed = set(msgspec.json.decode(entry.input_schema)["properties"])
        assert ours - {"cache", "cache_ttl", "idempotency_key"} == listed, entry.name
        assert ("idempotency_key" in ours) == (entry.effect != "reads"), entry.name


def test_the_javascript_client_has_a_method_for_every_operation(needs: Callable[[str], str]) -> None:
    names = [entry.name for entry in read_catalogue(["gitlab"]).operations if entry.name != "connect_gitlab"]
    script = (
        f"const Client = require({json.dumps(str(CLIENT / 'index.cjs'))});"
        "const called = [];"
        "const client = new Client({endpoint: 'http://x.example', token: 't', fetch: async (_, {body}) => {"
        "  called.push(JSON.parse(body).method); return new Response('{\"result\": {}}'); }});"
        "Promise.all(JSON.parse(process.argv[1]).map((name) => client[name]({})))"
        ".then(() => console.log(JSON.stringify(called)));"
    )
    camel = [name.split("_")[0] + "".join(word.title() for word in name.split("_")[1:]) for name in names]
    words = [needs("node"), "-e", script, json.dumps(camel)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == names
    types = (CLIENT / "operations.d.ts").read_text("utf-8")
    assert all(f"  {name}(params" in types for name in camel)


def test_both_clients_list_the_events_that_webhooks_sent(
    address: str, emulator: Emulator, tmp_path: Path, needs: Callable[[str], str]
) -> None:
    (tmp_path / "key").write_text("the-token-of-the-hook")
    (tmp_path / "postil.toml").write_text(f'[security]\nwebhook_key_files = ["{tmp_path / "key"}"]\n')
    state = {"POSTIL_STATE": str(tmp_path / "state.db"), "POSTIL_CONFIG": str(tmp_path / "postil.toml")}
    with postil(address, tmp_path, environ=state) as endpoint, McpGitlabClient(endpoint, DEVELOPER) as client:
        for number in range(3):
            push = {"ref": "refs/heads/main", "project": {"id": 123, "path_with_namespace": "username/my-project"}}
            told = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": "the-token-of-the-hook", "webhook-id": str(number)}
            assert post(endpoint.replace("/mcp", "/webhooks/gitlab"), push, **told) == {"stored": True}
        first = client.list_webhook_events(project_id=123, event="push", limit=2, after="0")
        assert [(event["id"], event["title"]) for event in first.events] == [("0", "main"), ("1", "main")]
        rest = client.list_webhook_events(project_id=123, after=first.next_after, payload=True)
        assert [event["payload"]["ref"] for event in rest.events] == ["refs/heads/main"]
        with pytest.raises(McpGitlabError) as caught:
            client.list_webhook_events()
        assert caught.value.code == -32602
        script = (
            f"const Client = require({json.dumps(str(CLIENT / 'index.cjs'))});"
            f"new Client({{endpoint: {json.dumps(endpoint)}, token: {json.dumps(DEVELOPER)}}})"
            ".listWebhookEvents({project_id: 123, after: process.argv[1]})"
            ".then((answer) => console.log(JSON.stringify(answer.result.events.map((event) => event.id))));"
        )
        done = subprocess.run(
            [needs("node"), "-e", script, first.next_after], capture_output=True, text=True, timeout=60, check=True
        )
        assert json.loads(done.stdout) == ["2"]


def test_an_error_carries_its_code_and_data(client: McpGitlabClient) -> None:
    with pytest.raises(McpGitlabError) as caught:
        client.get_project(project_id=999)
    assert (caught.value.code, caught.value.status) == (-32000, 404)
    assert caught.value.data["message"] == "Project not found"
    assert DEVELOPER not in repr(client)


def test_a_call_over_the_limit_is_retried_after_one_two_and_four_seconds(endpoint: str, emulator: Emulator) -> None:
    naps: list[float] = []
    client = McpGitlabClient(endpoint, DEVELOPER, sleep=naps.append)
    emulator.faults.add("429-text", path="/pipeline")  # a write, which the server itself never repeats
    with pytest.raises(McpGitlabError) as caught:
        client.trigger_pipeline(project_id=123, ref="main")
    assert caught.value.is_rate_limited
    assert naps == [1.0, 2.0, 4.0]
    assert len(passed_on(emulator)) == 4
    client.close()


def test_a_server_that_is_not_there_or_not_ours_is_an_error(address: str) -> None:
    with pytest.raises(McpGitlabError) as gone:
        McpGitlabClient("http://127.0.0.1:1/mcp", "x").list_projects()
    assert gone.value.code == -32603
    with McpGitlabClient(f"{address}/mcp", "x") as client, pytest.raises(McpGitlabError) as foreign:
        client.list_projects()
    assert "check the endpoint" in str(foreign.value)
    with pytest.raises(ValueError):
        McpGitlabClient("ftp://x", "y")


def test_the_asynchronous_client_speaks_the_same_methods(endpoint: str, emulator: Emulator) -> None:
    async def visit() -> None:
        async with AsyncMcpGitlabClient(endpoint, DEVELOPER) as client:
            projects, issue = await asyncio.gather(
                client.list_projects(), client.get_issue(project_id=123, issue_iid=1)
            )
            assert projects.total_count == 3
            assert issue.title == "Issue title"
            envelope = await client.request(method="get_project", params={"project_id": 123})
            assert envelope["result"]["id"] == 123

    asyncio.run(visit())


def test_the_python_client_imports_neither_the_server_nor_an_sdk() -> None:
    forbidden = "('postil', 'mcp', 'httpx2', 'asyncio')"
    script = f"import sys, mcp_gitlab; print([n for n in sys.modules if n.split('.')[0] in {forbidden}])"
    environ = {"PYTHONPATH": str(ROOT / "clients" / "python" / "src"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_contracts_javascript_snippets_and_test_examples_work(
    endpoint: str, emulator: Emulator, needs: Callable[[str], str]
) -> None:
    done = subprocess.run(
        [needs("node"), "--test", str(ROOT / "tests" / "gitlab" / "contract.test.cjs")],
        env={"ENDPOINT": endpoint, "TOKEN": DEVELOPER, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 4" in done.stdout or "pass 4" in done.stdout
    assert [row["title"] for row in emulator.world.projects[0].issues][1:] == ["New issue", "Test issue"]


def test_the_javascript_clients_own_tests_pass(needs: Callable[[str], str]) -> None:
    done = subprocess.run([needs("node"), "--test"], cwd=CLIENT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_operation_says_invalid_params_in_the_contracts_form(endpoint: str, emulator: Emulator) -> None:
    """Walks all operations: a new one is held to it too."""
    wrong: dict[str, dict[str, object]] = {}
    for entry in read_catalogue(["gitlab"]).operations:
        if entry.name != "connect_gitlab":
            wrong[f"{entry.name} unknown"] = {"no_such_argument": 1}
            properties = msgspec.json.decode(entry.input_schema)["properties"]
            wrong |= {f"{entry.name} {name}": {**CALLS[entry.name], name: {"a": [1]}} for name in properties}
    named = list(wrong)
    for start in range(0, len(named), 100):
        part = named[start : start + 100]
        answers = post(endpoint, [asked(name.split()[0], number, **wrong[name]) for number, name in enumerate(part)])
        for name, answer in zip(part, answers, strict=True):
            error = answer.get("error")
            assert error is not None or name.split()[1] in TAKES_OBJECTS, (name, answer)
            if error is not None:
                assert (error["code"], error["message"], error["data"]["status"]) == (-32602, "Invalid params", 400), (
                    name
                )
                assert error["data"]["message"], name
    assert passed_on(emulator) == []


def test_what_is_plain_is_taken_as_method_and_as_tool(endpoint: str, emulator: Emulator) -> None:
    given: dict[str, Any] = {
        "project_id": "124",
        "page": None,
        "per_page": "2",
        "labels": "bug,priority-high",
        "state": "Opened",
    }
    direct = post(endpoint, asked("list_issues", **given))["result"]
    assert (direct["pagination"]["page"], direct["pagination"]["per_page"], len(direct["issues"])) == (1, 2, 2)
    tool = post(endpoint, asked("tools/call", name="list_issues", arguments=given))["result"]
    assert tool["isError"] is False
    wrong = post(endpoint, asked("list_issues", project_id=124, labels=5))["error"]
    assert "Expected `array | null`, got `integer` at labels" in wrong["data"]["message"]


TAKES_OBJECTS = {"variables", "inputs"}
