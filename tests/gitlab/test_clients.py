"""Both clients against the real gateway: signatures, batches, headers, waits, and the asynchronous one."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp_gitlab import AsyncMcpGitlabClient, McpGitlabClient, McpGitlabError, Result, calls

from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER
from tests.gitlab.http_server import postil
from tests.gitlab.test_over_http import passed_on, post
from tests.needs import ROOT

SECRET = "the shared secret of the team"
DOCS = ROOT / "docs" / "implementation" / "sdk-usage.md"
JAVASCRIPT = ROOT / "clients" / "javascript" / "index.cjs"


class Endpoints(NamedTuple):
    """Two servers that take signed requests only: with a time, and in the contract's own form."""

    fresh: str
    contract: str


@pytest.fixture(scope="module")
def endpoints(served: tuple[Emulator, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Endpoints]:
    folders = [tmp_path_factory.mktemp("fresh"), tmp_path_factory.mktemp("contract")]
    for folder, extra in zip(folders, ("", "require_timestamp = false\n"), strict=True):
        (folder / "secret").write_text(SECRET + "\n")
        named = f'signing_key_files = ["{folder / "secret"}"]\n'
        (folder / "own.toml").write_text(f'[security]\nsignature = "required"\n{named}{extra}')
    environs = [{"POSTIL_CONFIG": str(folder / "own.toml")} for folder in folders]
    with (
        postil(served[1], folders[0], environ=environs[0]) as fresh,
        postil(served[1], folders[1], environ=environs[1]) as contract,
    ):
        yield Endpoints(fresh, contract)


@pytest.fixture(scope="module")
def endpoint(served: tuple[Emulator, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with postil(served[1], tmp_path_factory.mktemp("workspace")) as url:
        yield url


def javascript(node: str, endpoint: str, options: dict[str, Any], script: str) -> Any:
    """What a script prints that has a client of these options."""
    made = json.dumps({"endpoint": endpoint, "token": DEVELOPER, **options})
    head = f"const Client = require({json.dumps(str(JAVASCRIPT))}); const client = new Client({made});"
    words = [
        node,
        "-e",
        f"{head} (async () => {{ console.log(JSON.stringify(await (async () => {{ {script} }})())) }})()",
    ]
    return json.loads(subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout)


# -- signatures -------------------------------------------------------------------------------------------------------

CONTRACT_BODY = """{
  "jsonrpc": "2.0",
  "method": "list_projects",
  "params": {},
  "id": 1
}"""
CONTRACT_SNIPPET = """
const crypto = require('crypto');

function signRequest(payload, secret) {
  const hmac = crypto.createHmac('sha256', secret);
  hmac.update(payload);
  return hmac.digest('hex');
}

const [endpoint, body, secret, token] = process.argv.slice(1);
const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
// Add signature header
headers['X-MCP-Signature'] = `sha256=${signRequest(body, secret)}`;
fetch(endpoint, { method: 'POST', headers, body }).then(async (r) => console.log(r.status, await r.text()));
"""


def test_the_contracts_own_signature_is_taken_where_no_timestamp_is_required(
    endpoints: Endpoints, emulator: Emulator, needs: Callable[[str], str]
) -> None:
    def run(endpoint: str, secret: str = SECRET) -> tuple[str, Any]:
        words = [needs("node"), "-e", CONTRACT_SNIPPET, endpoint, CONTRACT_BODY, secret, DEVELOPER]
        said = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
        return said[:3], json.loads(said[4:])

    status, answer = run(endpoints.contract)
    assert (status, answer["id"], answer["result"]["total_count"]) == ("200", 1, 3)
    assert run(endpoints.contract)[0] == "200"  # the same again: this form can be replayed, as the page says
    status, answer = run(endpoints.contract, "another secret")
    assert (status, answer["id"], answer["error"]["data"]["status"]) == ("401", 1, 401)
    status, answer = run(endpoints.fresh)
    assert (status, answer["id"]) == ("401", 1)
    assert "X-MCP-Timestamp" in answer["error"]["data"]["message"]


def test_the_python_clients_sign(endpoints: Endpoints, emulator: Emulator) -> None:
    with McpGitlabClient(endpoints.fresh, DEVELOPER, secret=SECRET) as client:
        assert [client.get_project(project_id=123).id for _ in range(2)] == [123, 123]  # the same body, signed anew
    with McpGitlabClient(endpoints.contract, DEVELOPER, secret=SECRET.encode(), timestamp=False) as client:
        assert client.get_project(project_id=123).id == 123

    async def visit() -> int:
        async with AsyncMcpGitlabClient(endpoints.fresh, DEVELOPER, secret=SECRET) as client:
            return (await client.get_project(project_id=123)).id

    assert asyncio.run(visit()) == 123
    wrong: list[dict[str, Any]] = [{}, {"secret": "wrong" * 5}, {"secret": SECRET, "timestamp": False}]
    for options in wrong:
        with McpGitlabClient(endpoints.fresh, DEVELOPER, **options) as client, pytest.raises(McpGitlabError) as refused:
            client.get_project(project_id=123)
        assert refused.value.status == 401
        assert SECRET not in str(refused.value)


def test_the_javascript_client_signs(endpoints: Endpoints, emulator: Emulator, needs: Callable[[str], str]) -> None:
    script = "return [(await client.getProject({project_id: 123})).id, (await client.getProject({project_id: 123})).id]"
    assert javascript(needs("node"), endpoints.fresh, {"secret": SECRET}, script) == [123, 123]
    assert javascript(needs("node"), endpoints.contract, {"secret": SECRET, "timestamp": False}, script) == [123, 123]
    refused = "return client.getProject({project_id: 123}).catch((error) => error.status)"
    assert javascript(needs("node"), endpoints.fresh, {}, refused) == 401


# -- batches ----------------------------------------------------------------------------------------------------------

BATCH = [
    calls.list_projects(visibility="private"),
    calls.get_project(project_id=999),
    calls.list_issues(project_id=".."),
    ("get_issue", {"project_id": 123, "issue_iid": 1}),
]


def check_batch(answers: list[Result | McpGitlabError]) -> None:
    projects, missing, invalid, issue = answers
    assert isinstance(projects, Result)
    assert projects.projects[0]["name"] == "My Project"
    assert isinstance(missing, McpGitlabError)
    assert (missing.code, missing.status, missing.data["message"]) == (-32000, 404, "Project not found")
    assert isinstance(invalid, McpGitlabError)
    assert (invalid.code, invalid.message, invalid.status) == (-32602, "Invalid params", 400)
    assert isinstance(issue, Result)
    assert issue.title == "Issue title"


def test_the_python_clients_batch(endpoint: str, emulator: Emulator) -> None:
    with McpGitlabClient(endpoint, DEVELOPER) as client:
        check_batch(client.batch(BATCH))
        assert client.batch([]) == []
        with pytest.raises(McpGitlabError) as refused:
            client.batch([calls.whoami()] * 101)
        assert (refused.value.code, "at most 100" in str(refused.value)) == (-32600, True)

    async def visit() -> None:
        async with AsyncMcpGitlabClient(endpoint, DEVELOPER) as client:
            check_batch(await client.batch(BATCH))

    asyncio.run(visit())


def test_the_javascript_client_batches(endpoint: str, emulator: Emulator, needs: Callable[[str], str]) -> None:
    script = (
        "const [projects, missing] = await client.batch([{method: 'list_projects'},"
        " {method: 'get_project', params: {project_id: 999}}]);"
        "return [projects.total_count, missing instanceof Client.McpGitlabError, missing.data.message]"
    )
    assert javascript(needs("node"), endpoint, {}, script) == [3, True, "Project not found"]


def test_only_the_calls_of_a_batch_that_were_over_the_limit_are_sent_again(
    served: tuple[Emulator, str], emulator: Emulator, tmp_path: Path
) -> None:
    (tmp_path / "own.toml").write_text("[limits]\nper_minute = 3\n")
    naps: list[float] = []
    with (
        postil(served[1], tmp_path, environ={"POSTIL_CONFIG": str(tmp_path / "own.toml")}) as endpoint,
        McpGitlabClient(endpoint, DEVELOPER, sleep=naps.append) as client,
    ):
        answers = client.batch([calls.get_project(project_id=123)] * 4)
        assert [answer.id for answer in answers[:3] if isinstance(answer, Result)] == [123] * 3
        last = answers[3]
        assert isinstance(last, McpGitlabError)
        assert last.is_rate_limited
        assert last.data["message"] == "Too Many Requests: at most 3 calls a minute"
        assert len(naps) == 3
        assert all(50 < nap <= 60 for nap in naps)  # what the server said, not a backoff of its own
        assert len([seen for seen in passed_on(emulator) if seen.path.endswith("/123")]) == 3
        with pytest.raises(McpGitlabError) as alone:
            client.get_project(project_id=123)
        assert alone.value.retry_after is not None
        assert 50 < alone.value.retry_after <= 60


# -- headers ----------------------------------------------------------------------------------------------------------


def test_headers_of_a_client_and_of_a_call_reach_the_gateway(
    endpoint: str, emulator: Emulator, needs: Callable[[str], str]
) -> None:
    with McpGitlabClient(endpoint, DEVELOPER, headers={"X-MCP-Readonly": "true"}) as client:
        with pytest.raises(McpGitlabError) as refused:
            client.create_issue(project_id=123, title="x")
        assert refused.value.code == -32601
    key = {"Idempotency-Key": "once"}
    with McpGitlabClient(endpoint, DEVELOPER) as client:
        made = [client.call("create_issue", {"project_id": 123, "title": "x"}, headers=key).iid for _ in range(2)]
    assert made[0] == made[1]

    async def visit() -> Any:
        async with AsyncMcpGitlabClient(endpoint, DEVELOPER) as asked:
            return await asked.call("create_issue", {"project_id": 123, "title": "x"}, headers=key)

    assert asyncio.run(visit()).iid == made[0]
    script = (
        "return (await client.createIssue({project_id: 123, title: 'x'}, {headers: {'Idempotency-Key': 'once'}})).iid"
    )
    assert javascript(needs("node"), endpoint, {}, script) == made[0]
    assert len(emulator.world.projects[0].issues) == 2


@pytest.mark.parametrize("headers", [{"Authorization": "x"}, {"host": "x"}, {"X-A": "a\r\nX-B: b"}, {"X A": "b"}])
def test_a_header_that_would_break_the_request_is_refused(headers: dict[str, str]) -> None:
    for kind in (McpGitlabClient, AsyncMcpGitlabClient):
        with pytest.raises(ValueError):
            kind("http://127.0.0.1:1/mcp", "t", headers=headers)
    with pytest.raises(ValueError):
        McpGitlabClient("http://127.0.0.1:1/mcp", "a\r\nb")


# -- the asynchronous client ------------------------------------------------------------------------------------------


class NoThreads(Executor):
    """An executor that refuses work: the event loop of a test has no thread to fall back to."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("work was given to a thread")


def test_the_asynchronous_client_starts_no_thread(endpoint: str, emulator: Emulator) -> None:
    async def visit() -> None:
        loop = asyncio.get_running_loop()
        pool = ThreadPoolExecutor(1)
        pool.submit = NoThreads().submit
        loop.set_default_executor(pool)
        before = threading.active_count()
        async with AsyncMcpGitlabClient(endpoint, DEVELOPER) as client:
            many = await asyncio.gather(*(client.get_project(project_id=123) for _ in range(40)))
            assert [one.id for one in many] == [123] * 40
            assert threading.active_count() == before
            with pytest.raises(McpGitlabError) as missing:
                await client.get_project(project_id=999)
            assert missing.value.status == 404

    asyncio.run(visit())


def test_a_call_that_is_given_up_closes_its_connection_and_the_next_gets_its_own_answer(
    endpoint: str, emulator: Emulator
) -> None:
    async def visit() -> None:
        async with AsyncMcpGitlabClient(endpoint, DEVELOPER) as client:
            await client.get_project(project_id=123)
            given_up = asyncio.ensure_future(client.get_project(project_id=124))
            await asyncio.sleep(0)
            given_up.cancel()
            with pytest.raises(asyncio.CancelledError):
                await given_up
            assert (await client.get_project(project_id=123)).id == 123

    asyncio.run(visit())


# -- the page ---------------------------------------------------------------------------------------------------------


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)


def prepare(block: str, endpoint: str) -> str:
    assert "http://localhost:3000/mcp" in block
    return block.replace("http://localhost:3000/mcp", endpoint).replace("your-gitlab-token", DEVELOPER)


def test_the_python_examples_of_the_page_run(endpoint: str, endpoints: Endpoints, emulator: Emulator) -> None:
    shown = blocks("python")
    assert len(shown) >= 3
    for block in shown:
        where = endpoints.fresh if "secret=" in block else endpoint
        script = prepare(block, where).replace("the-shared-secret", SECRET)
        exec(compile(script, str(DOCS), "exec"), {"__name__": "__main__"})  # the page's own words


def test_the_javascript_examples_of_the_page_run(
    endpoint: str, endpoints: Endpoints, emulator: Emulator, needs: Callable[[str], str], tmp_path: Path
) -> None:
    shown = blocks("javascript")
    assert len(shown) >= 2
    for number, block in enumerate(shown):
        where = endpoints.fresh if "secret:" in block else endpoint
        script = prepare(block, where).replace("the-shared-secret", SECRET)
        script = script.replace("require('@mcp-gitlab/client')", f"require({json.dumps(str(JAVASCRIPT))})")
        file = tmp_path / f"example{number}.cjs"
        file.write_text(
            f"(async () => {{\n{script}\n}})().catch((error) => {{ console.error(error); process.exit(1); }});"
        )
        done = subprocess.run([needs("node"), str(file)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def test_a_refusal_of_the_gateway_echoes_the_callers_id(endpoint: str) -> None:
    answer = post(endpoint, {"jsonrpc": "2.0", "method": "whoami", "params": {}, "id": "mine"}, "no-such-token")
    assert (answer["id"], answer["error"]["data"]["status"]) == ("mine", 401)
    assert answer["error"]["data"]["message"]
