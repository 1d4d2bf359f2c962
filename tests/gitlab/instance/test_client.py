"""The client layer: busy, broken, slow and lying upstreams; redirects and cookies. S12, S13, S14, S31."""

from __future__ import annotations

import asyncio
import errno
import gzip
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest

from postil.core.failure import Failure
from postil.gitlab.failures import GitLabFailure, GitLabUnreachable, NotOffered, UnknownOutcome
from postil.gitlab.instance import client, retries
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.part import GitLab
from tests.emulator.app import Emulator
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER
from tests.gitlab.answers import direct
from tests.gitlab.conftest import Connect, Naps
from tests.gitlab.groups import Groups
from tests.gitlab.scripted import API, URL, ScriptedInstance, answer

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", ["429-seconds", "429-date", "429-reset", "429-text", "502", "503", "504"])
async def test_a_read_is_asked_again_until_gitlab_answers(
    gitlab: Groups, emulator: Emulator, naps: Naps, kind: str
) -> None:
    emulator.faults.add(kind, times=2)
    assert (await gitlab.projects.get_project(123)).id == 123
    assert len(emulator.seen) == 3
    assert len(naps.taken) == 2
    assert all(0 < nap < 5 for nap in naps.taken)


async def test_a_read_is_given_up_after_three_attempts(gitlab: Groups, emulator: Emulator) -> None:
    emulator.faults.add("429-seconds")
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.projects.get_project(123)
    assert len(emulator.seen) == 3
    assert (caught.value.code, caught.value.data["status"]) == (-32000, 429)
    assert caught.value.data["retry_after"] == 1
    assert caught.value.data["message"] == "Too many requests. Please try again later."


@pytest.mark.parametrize("kind", ["500", "400", "409", "422"])
async def test_other_refusals_are_not_asked_again(gitlab: Groups, emulator: Emulator, kind: str) -> None:
    emulator.faults.add(kind)
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.projects.get_project(123)
    assert caught.value.data["status"] == int(kind)
    assert len(emulator.seen) == 1


@pytest.mark.parametrize("kind", ["429-seconds", "502", "503", "500"])
async def test_a_write_is_never_sent_twice(gitlab: Groups, emulator: Emulator, kind: str) -> None:
    emulator.faults.add(kind, times=1)
    with pytest.raises(GitLabFailure):
        await gitlab.issues.create_issue(123, "Once")
    assert len(emulator.seen) == 1


async def test_a_write_that_times_out_has_an_unknown_outcome(connect: Connect, emulator: Emulator) -> None:
    emulator.faults.add("slow", seconds=2.0)
    with pytest.raises(UnknownOutcome) as caught:
        await connect(timeout=0.2).issues.create_issue(123, "Slow")
    assert "unknown outcome" in str(caught.value.data["message"])
    assert caught.value.code == -32603
    assert len(emulator.seen) == 1


async def test_a_write_whose_connection_breaks_off_has_an_unknown_outcome(gitlab: Groups, emulator: Emulator) -> None:
    logging.getLogger("uvicorn.error").disabled = True  # the emulator's broken connection is meant
    emulator.faults.add("drop")
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.issues.create_issue(123, "Dropped")
    assert caught.value.status >= 500
    assert [row["title"] for row in emulator.world.projects[0].issues][-1] == "Dropped"


@pytest.mark.parametrize("kind", ["odd", "html", "nulls", "missing", "truncated"])
async def test_a_write_that_gitlab_accepted_is_never_reported_as_failed(
    gitlab: Groups, emulator: Emulator, kind: str
) -> None:
    emulator.faults.add(kind)
    await gitlab.issues.create_issue(123, "Accepted")
    await gitlab.merge_requests.create_merge_request(123, "Accepted", "other", "main")
    await gitlab.pipelines.trigger_pipeline(123, "main")
    await gitlab.issues.update_issue(123, 1, title="Accepted")
    await gitlab.issues.create_issue_note(123, 1, "Accepted")
    await gitlab.review.comment_on_merge_request(123, 1, "Accepted")
    assert emulator.world.projects[0].issues[-1]["title"] == "Accepted"


@asynccontextmanager
async def answering(said: bytes) -> AsyncGenerator[tuple[str, list[bytes]]]:
    """A server that says these bytes to every request and hangs up, and the requests' first lines."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        while (await reader.readline()).strip():
            pass
        writer.write(said)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}", heard


CUT = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"


async def test_a_write_whose_answer_breaks_off_behind_its_status_was_accepted(naps: Naps) -> None:
    async with answering(CUT) as (address, heard):
        part = Groups(GitLab(Connection(Instance(address, sleep=naps), lambda: DEVELOPER)))
        made = await part.issues.create_issue(123, "Accepted")
        await part.close()
    assert (made.id, made.iid) == (None, None)
    assert "Do not send it again" in made.for_model()
    assert heard == [b"POST /api/v4/projects/123/issues HTTP/1.1\r\n"]


async def test_a_write_whose_connection_ends_without_a_status_has_an_unknown_outcome(naps: Naps) -> None:
    async with answering(b"") as (address, heard):
        part = Groups(GitLab(Connection(Instance(address, sleep=naps), lambda: DEVELOPER)))
        with pytest.raises(UnknownOutcome):
            await part.issues.create_issue(123, "Who knows")
        assert len(heard) == 1
        with pytest.raises(GitLabUnreachable):
            await part.projects.get_project(123)
        await part.close()
    assert len(heard) == 4  # a read is asked three times


@asynccontextmanager
async def dripping(begin: bytes) -> AsyncGenerator[tuple[str, list[bytes]]]:
    """A server that begins to answer and then sends a byte now and then, without an end; and the first lines."""
    heard: list[bytes] = []
    tasks: set[asyncio.Task[Any]] = set()
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        heard.append(await reader.readline())
        while (await reader.readline()).strip():
            pass
        writer.write(begin)
        with suppress(OSError):
            while not writer.is_closing() and not ended.is_set():
                writer.write(b"x")
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), 0.02)
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}", heard
        ended.set()
        await asyncio.gather(*tasks)


DRIPPING_HEAD = b"HTTP/1.1 200 OK\r\nX-Slow: "
DRIPPING_BODY = b"HTTP/1.1 201 Created\r\nContent-Length: 9999999\r\n\r\n["


@pytest.mark.parametrize("begin", [DRIPPING_HEAD, DRIPPING_BODY])
async def test_a_read_whose_answer_drips_without_an_end_is_a_timeout(
    naps: Naps, monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr("postil.gitlab.instance.client.DEADLINE", 0.3)
    async with dripping(begin) as (address, heard):
        part = Groups(GitLab(Connection(Instance(address, sleep=naps), lambda: DEVELOPER)))
        for read in (part.projects.get_project(123), part.pipelines.get_job_log(123, 1)):
            with pytest.raises(GitLabFailure) as caught:
                await read
            assert caught.value.status == 504
        await part.close()
    assert len(heard) == 2


async def test_a_write_whose_answer_drips_is_known_by_its_status(naps: Naps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postil.gitlab.instance.client.DEADLINE", 0.3)
    async with dripping(DRIPPING_HEAD) as (address, heard):
        part = Groups(GitLab(Connection(Instance(address, sleep=naps), lambda: DEVELOPER)))
        with pytest.raises(UnknownOutcome):
            await part.issues.create_issue(123, "Who knows")
        await part.close()
    assert len(heard) == 1
    async with dripping(DRIPPING_BODY) as (address, heard):
        part = Groups(GitLab(Connection(Instance(address, sleep=naps), lambda: DEVELOPER)))
        assert "Do not send it again" in (await part.issues.create_issue(123, "Accepted")).for_model()
        await part.close()
    assert len(heard) == 1


async def test_a_slow_read_is_a_timeout(connect: Connect, emulator: Emulator) -> None:
    emulator.faults.add("slow", seconds=2.0)
    with pytest.raises(GitLabFailure) as caught:
        await connect(timeout=0.2).projects.get_project(123)
    assert (caught.value.code, caught.value.data["status"]) == (-32603, 504)


@pytest.mark.parametrize("kind", ["truncated", "html"])
async def test_an_unreadable_answer_says_so(gitlab: Groups, emulator: Emulator, kind: str) -> None:
    emulator.faults.add(kind)
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.issues.list_issues(123)
    assert caught.value.data["message"] == "GitLab's answer could not be read"
    assert (caught.value.code, caught.value.status) == (-32603, 502)


async def test_nobody_listening_is_unreachable(naps: Naps) -> None:
    nowhere = "http://127.0.0.1:1"
    part = Groups(GitLab(Connection(Instance(nowhere, sleep=naps), lambda: DEVELOPER)))
    with pytest.raises(GitLabUnreachable) as caught:
        await part.projects.get_project(1)
    assert caught.value.code == -32603
    await part.close()


async def test_a_redirect_on_the_same_host_is_followed_once(gitlab: Groups, emulator: Emulator) -> None:
    assert (await gitlab.projects.get_project("username/old-name")).id == 123
    emulator.faults.add("redirect-same")
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.projects.get_project(123)
    assert caught.value.status == 301
    assert len(emulator.seen) == 4


async def test_a_redirect_to_another_host_is_not_followed(gitlab: Groups, emulator: Emulator) -> None:
    other = Emulator()
    with running(other) as elsewhere:
        emulator.faults.add("redirect-other", other=elsewhere)
        with pytest.raises(GitLabFailure) as caught:
            await gitlab.projects.get_project(123)
        with pytest.raises(GitLabFailure):
            await gitlab.issues.create_issue(123, "Nowhere")
    assert "not followed" in caught.value.advice
    assert other.seen == []


async def test_a_session_cookie_is_never_sent_back(connect: Connect, emulator: Emulator) -> None:
    emulator.faults.add("cookie")
    part = connect()
    await part.projects.get_project(123)
    await part.projects.get_project(123)
    assert all("cookie" not in seen.headers for seen in emulator.seen)


async def test_no_token_reaches_a_log_an_error_or_a_result(
    connect: Connect, emulator: Emulator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    for kind in ("", "400", "429-text", "html", "redirect-other", "slow", "truncated"):
        emulator.reset()
        if kind:
            emulator.faults.add(kind, seconds=0.5)
        part = connect(timeout=0.2)
        for work in (part.projects.get_project(123), part.issues.create_issue(123, "x"), part.projects.list_projects()):
            try:
                said.append(str(direct(await work)))
            except Failure as failure:
                said.append(f"{failure!r} {failure.details()} {failure.text()}")
    everything = "\n".join([*said, caplog.text, *(repr(key) for key in vars(part.context.connection.cache))])
    for secret in ("glpat-", "Bearer ", "runners_token", "GR1348941", "hunter2", "import_url"):
        assert secret not in everything


async def test_a_read_only_server_sends_no_write(connect: Connect, emulator: Emulator) -> None:
    part = connect(read_only=True)
    for work in (
        part.issues.create_issue(123, "x"),
        part.issues.update_issue(123, 1, title="x"),
        part.issues.create_issue_note(123, 1, "x"),
        part.merge_requests.create_merge_request(123, "x", "other", "main"),
        part.review.comment_on_merge_request(123, 1, "x"),
        part.review.resolve_discussion(123, 1, "abc"),
        part.pipelines.trigger_pipeline(123, "main"),
        part.webhooks.configure_webhook(123, "https://93.184.216.34/", ["push"]),
    ):
        with pytest.raises(NotOffered):
            await work
    await part.issues.get_issue(123, issue_id=789)
    assert {seen.method for seen in emulator.seen if not seen.path.endswith("graphql")} == {"GET"}


HOME = [
    "/api/v4/projects/9",
    "https://gitlab.example.com/api/v4/projects/9",
    "9",
]
AWAY = [
    "https://gitlab.example.com.evil.org/api/v4/projects/9",
    "https://gitlab.example.com@evil.org/api/v4/projects/9",
    "https://evil.org/?https://gitlab.example.com/api/v4/projects/9",
    "https://evil.org/https://gitlab.example.com/api/v4/",
    "http://gitlab.example.com/api/v4/projects/9",
    "https://gitlab.example.com:8443/api/v4/projects/9",
    "https://gitlab.example.com/api/v4.evil/projects/9",
    "https://gitlab.example.com/api/v4/%2e%2e/..x",
    "/api/v4/projects\\9",
    "/users/sign_in",
    "//evil.org/api/v4/projects/9",
]


@pytest.mark.parametrize("target", HOME)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_inside_the_api_is_followed_with_the_token(status: int, target: str) -> None:
    instance = ScriptedInstance(answer(status=status, location=target), answer({"id": 9}))
    reply = await instance.get("projects/7", {"statistics": True}, token="t", etag='W/"1"')
    assert reply.json() == {"id": 9}
    assert instance.asked == [f"GET {API}projects/7?statistics=true", f"GET {API}projects/9"]
    assert {request.headers["authorization"] for request in instance.requests} == {"Bearer t"}
    assert {request.headers["if-none-match"] for request in instance.requests} == {'W/"1"'}


@pytest.mark.parametrize("target", AWAY)
async def test_a_redirect_to_anywhere_else_never_sees_the_token(target: str) -> None:
    instance = ScriptedInstance(answer(status=301, location=target), answer({"id": 9}))
    with pytest.raises(GitLabFailure) as caught:
        await instance.get("projects/7", token="t")
    assert (caught.value.status, len(instance.requests)) == (301, 1)
    assert "GITLAB_URL" in caught.value.advice


@pytest.mark.parametrize(
    ("status", "location"), [(300, ""), (303, "/api/v4/x"), (399, ""), (301, ""), (309, "/api/v4/x")]
)
async def test_other_redirects_are_failures_that_say_so(status: int, location: str) -> None:
    headers = {"location": location} if location else {}
    instance = ScriptedInstance(answer(status=status, **headers))
    with pytest.raises(GitLabFailure) as caught:
        await instance.get("projects/7", token="t")
    assert caught.value.data["message"] == "GitLab redirected the request"
    assert len(instance.requests) == 1


@pytest.mark.parametrize("status", [200, 201, 204, 299, 304])
async def test_a_success_is_the_answer(status: int) -> None:
    assert (await ScriptedInstance(answer({}, status)).get("x", token="t")).status == status


@pytest.mark.parametrize("status", [400, 305, 404])
async def test_a_refusal_is_a_failure_with_its_status(status: int) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await ScriptedInstance(answer({"message": "no"}, status)).get("x", token="t")
    assert (caught.value.status, caught.value.data["message"] == "No") == (status, status >= 400)


class Clock:
    """A clock that goes on only while we sleep."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


@pytest.mark.parametrize(("asked", "attempts"), [("25", 3), ("30", 3), ("31", 1)])
async def test_a_read_may_take_a_minute_in_all(asked: str, attempts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(client, "time", clock)
    monkeypatch.setattr(retries.random, "uniform", lambda low, high: 0.0)  # type: ignore[misc]
    instance = ScriptedInstance(answer({"message": "busy"}, 429, retry_after=asked))
    with pytest.raises(GitLabFailure):
        await instance.get("x", token="t")
    assert (len(instance.requests), instance.naps) == (attempts, [float(asked)] * (attempts - 1))


async def test_a_pause_that_would_end_behind_the_deadline_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(client, "time", clock)
    monkeypatch.setattr(retries.random, "uniform", lambda low, high: 0.0)  # type: ignore[misc]
    busy = answer({}, 429, retry_after="30")
    for spent, attempts in ((29.9, 3), (30.0, 3), (30.1, 2)):
        instance = ScriptedInstance(busy)

        async def nap(seconds: float, spent: float = spent, instance: ScriptedInstance = instance) -> None:
            clock.now += spent
            instance.naps.append(seconds)

        monkeypatch.setattr(instance, "_sleep", nap)
        with pytest.raises(GitLabFailure):
            await instance.get("x", token="t")
        assert len(instance.requests) == attempts, spent


async def test_an_address_that_is_none_of_the_web_is_counted_and_told() -> None:
    instance = ScriptedInstance(httpx2.UnsupportedProtocol("ftp"))
    with pytest.raises(GitLabUnreachable) as caught:
        await instance.get("x", token="t")
    assert "it is no address of the web" in str(caught.value.data["message"])
    assert instance.answers == {0: len(instance.requests)}


async def test_a_pause_is_taken_as_the_server_takes_its_pauses() -> None:
    instance = ScriptedInstance(answer({}))
    await instance.pause(3.0)
    assert instance.naps == [3.0]


async def test_a_connection_that_fails_is_tried_three_times_and_then_told() -> None:
    refused = httpx2.ConnectError("all attempts failed")
    refused.__cause__ = OSError(errno.ECONNREFUSED, "in other words")
    instance = ScriptedInstance(refused)
    with pytest.raises(GitLabUnreachable) as caught:
        await instance.get("x", token="t")
    assert caught.value.data["message"] == f"GitLab cannot be reached at {URL}: Connection refused"
    assert (len(instance.requests), len(instance.naps), instance.answers) == (3, 2, {0: 3})
    found = ScriptedInstance(refused, answer({"id": 1}))
    assert (await found.get("x", token="t")).json() == {"id": 1}
    assert found.answers == {0: 1, 200: 1}


@pytest.mark.parametrize(
    ("cause", "reason"),
    [
        (OSError(1, "certificate verify failed"), "certificate verify failed"),
        (OSError(2, "in other words"), "No such file or directory"),
        (OSError(-2, "Name or service not known"), "Name or service not known"),
        (OSError("no number"), "no connection within the time allowed"),
        (ValueError("not the system"), "no connection within the time allowed"),
    ],
)
async def test_the_reason_is_the_innermost_one_in_the_systems_words(cause: Exception, reason: str) -> None:
    outer, middle = httpx2.ConnectError("outer"), OSError(5, "middle")
    outer.__cause__, middle.__context__ = middle, cause
    if isinstance(cause, ValueError) or not cause.args[1:]:
        outer.__cause__ = cause
    with pytest.raises(GitLabUnreachable) as caught:
        await ScriptedInstance(outer).get("x", token="t")
    assert str(caught.value.data["message"]).endswith(f": {reason}")


@pytest.mark.parametrize("error", [httpx2.ReadTimeout("slow"), httpx2.WriteTimeout("slow")])
async def test_no_answer_in_time_is_504_for_a_read_and_an_unknown_outcome_for_a_write(error: Exception) -> None:
    instance = ScriptedInstance(error)
    with pytest.raises(GitLabFailure) as read:
        await instance.get("x", token="t")
    with pytest.raises(UnknownOutcome) as sent:
        await instance.send("POST", "x", {}, token="t")
    with pytest.raises(GitLabFailure) as asked:
        await instance.ask_graphql("{x}", token="t")
    assert [caught.value.status for caught in (read, sent, asked)] == [504, 504, 504]
    assert not isinstance(asked.value, UnknownOutcome), "a question changes nothing"
    assert (len(instance.requests), instance.answers) == (3, {0: 3})


async def test_a_connection_that_breaks_off_is_counted_and_unreachable() -> None:
    instance = ScriptedInstance(httpx2.RemoteProtocolError("cut"))
    with pytest.raises(GitLabUnreachable):
        await instance.get("x", token="t")
    with pytest.raises(UnknownOutcome) as sent:
        await instance.send("PUT", "x", {}, token="t")
    assert (sent.value.status, instance.answers) == (504, {0: 4})


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_front_that_fails_leaves_a_write_unknown_unless_it_says_when_to_come_back(status: int) -> None:
    with pytest.raises(UnknownOutcome) as caught:
        await ScriptedInstance(answer(b"", status)).send("POST", "x", {}, token="t")
    assert caught.value.status == status
    with pytest.raises(GitLabFailure) as waits:
        await ScriptedInstance(answer(b"", status, retry_after="3")).send("POST", "x", {}, token="t")
    assert not isinstance(waits.value, UnknownOutcome)


@pytest.mark.parametrize("status", [400, 500, 501, 505])
async def test_any_other_refusal_of_a_write_is_known(status: int) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await ScriptedInstance(answer(b"", status)).send("POST", "x", {}, token="t")
    assert (caught.value.status, isinstance(caught.value, UnknownOutcome)) == (status, False)


async def test_what_is_sent_is_what_was_said() -> None:
    instance = ScriptedInstance(answer({"id": 1}, 201))
    await instance.send("PUT", "projects/7/issues/1", {"title": "T"}, token="t")
    await instance.get(
        "projects", {"owned": True, "starred": False, "page": 2, "search": None, "state": "opened"}, token="t"
    )
    await instance.ask_graphql("{x}", token="t")
    put, get, asked = instance.requests
    assert (put.content, put.headers["content-type"]) == (b'{"title":"T"}', "application/json")
    assert str(get.url) == f"{API}projects?owned=true&starred=false&page=2&state=opened"
    assert "content-type" not in get.headers
    assert "if-none-match" not in get.headers
    assert get.headers["user-agent"] == "postil"
    assert (str(asked.url), asked.content) == (f"{URL}/api/graphql", b'{"query":"{x}"}')
    assert instance.answers == {201: 3}


async def test_a_question_in_graphql_is_answered_with_its_json() -> None:
    assert await ScriptedInstance(answer({"data": {}})).ask_graphql("{x}", token="t") == {"data": {}}


async def test_the_pool_follows_nothing_and_reads_no_environment() -> None:
    pool = ScriptedInstance(answer({})).open_client()
    assert (pool.follow_redirects, pool.trust_env, pool.timeout.connect, pool.timeout.read) == (False, False, 5.0, 30.0)
    await pool.aclose()


async def test_an_answer_of_32_mib_is_read_and_one_more_byte_is_too_large() -> None:
    largest = b"x" * (32 * 1024 * 1024)
    assert len((await ScriptedInstance(answer(largest)).get("x", token="t")).body) == len(largest)
    with pytest.raises(GitLabFailure) as caught:
        await ScriptedInstance(answer(largest + b"x")).get("x", token="t")
    assert (caught.value.status, caught.value.data["message"]) == (502, "GitLab's answer is larger than 32 MiB")


async def test_a_write_that_was_accepted_with_too_many_words_was_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST_ANSWER", 3)
    accepted = await ScriptedInstance(answer(b"long", 201)).send("POST", "x", {}, token="t")
    assert (accepted.status, accepted.body) == (201, b"")
    with pytest.raises(GitLabFailure) as caught:
        await ScriptedInstance(answer(b"long", 422)).send("POST", "x", {}, token="t")
    assert caught.value.status == 502


def test_every_event_loop_has_a_pool_of_its_own() -> None:
    instance = ScriptedInstance(answer({}))

    async def twice() -> None:
        await instance.get("x", token="t")
        await instance.get("x", token="t")

    asyncio.run(twice())
    asyncio.run(twice())
    assert (instance.opened, instance.answers) == (2, {200: 4})


async def test_a_closed_pool_is_opened_again() -> None:
    instance = ScriptedInstance(answer({}))
    await instance.close()
    await instance.get("x", token="t")
    await instance.close()
    await instance.get("x", token="t")
    assert instance.opened == 2


async def test_certificates_are_asked_for_only_over_https() -> None:
    asked: list[str] = []

    def trust() -> bool:
        asked.append("trust")
        return True

    for url in ("http://gitlab.example.com/https:", "http://gitlab.example.com/"):
        plain = ScriptedInstance(answer({}), url=url, trust=trust)
        await plain.get("x", token="t")
        assert str(plain.requests[0].url) == f"{url.rstrip('/')}/api/v4/x"
    assert asked == []
    await ScriptedInstance(answer({}), trust=trust).get("x", token="t")
    assert asked == ["trust"]


# -- packed answers ---------------------------------------------------------------------------------------------------

PACKED = {
    "gzip": (b"gzip", gzip.compress(b'{"id": 5}'), b'{"id": 5}'),
    "a bomb": (b"gzip", gzip.compress(bytes(40 * 1024 * 1024)), "larger than 32 MiB"),
    "bombs in a bomb": (b"gzip, gzip", gzip.compress(gzip.compress(bytes(1000))), "not asked for"),
    "another way": (b"br", b"\x0b\x02\x80{}\x03", "not asked for"),
    "broken off": (b"gzip", gzip.compress(bytes(5000))[:-9], "broke off"),
    "no gzip at all": (b"gzip", b'{"id": 5}', "could not be unpacked"),
}


@pytest.mark.parametrize(("way", "sent", "outcome"), PACKED.values(), ids=list(PACKED))
async def test_packed_answers_are_unpacked_up_to_the_bound(way: bytes, sent: bytes, outcome: bytes | str) -> None:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-encoding", way)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": sent})

    with running(answer) as address:
        instance = Instance(address)
        try:
            if isinstance(outcome, bytes):
                assert (await instance.get("projects/5", token="t")).body == outcome
                return
            with pytest.raises(GitLabFailure) as caught:
                await instance.get("projects/5", token="t")
            assert outcome in str(caught.value.data["message"])
            assert caught.value.status == 502
        finally:
            await instance.close()


@pytest.mark.parametrize("packed", [False, True])
async def test_an_answer_is_read_up_to_its_bound_and_not_a_byte_further(
    packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LARGEST_ANSWER", 5000)
    for size, is_read in ((5000, True), (5001, False)):
        body = gzip.compress(bytes(size)) if packed else bytes(size)
        instance = ScriptedInstance(answer(body))
        instance.packed = packed
        if is_read:
            assert len((await instance.get("x", token="t")).body) == size
            continue
        with pytest.raises(GitLabFailure) as caught:
            await instance.get("x", token="t")
        assert "larger than" in str(caught.value.data["message"])


# -- streams ----------------------------------------------------------------------------------------------------------


async def test_a_stream_hands_on_what_gitlab_sends_and_is_asked_for_with_the_token() -> None:
    fed: list[bytes] = []
    instance = ScriptedInstance(answer(b"a line\n"))
    await instance.stream("jobs/1/trace", fed.append, token="t")
    assert (b"".join(fed), instance.answers) == (b"a line\n", {200: 1})
    (request,) = instance.requests
    assert (str(request.url), request.headers["authorization"]) == (f"{API}jobs/1/trace", "Bearer t")


@pytest.mark.parametrize("status", [301, 403, 404, 500])
async def test_a_stream_that_is_refused_says_why_and_hands_on_nothing(status: int) -> None:
    fed: list[bytes] = []
    with pytest.raises(GitLabFailure) as caught:
        await ScriptedInstance(answer({"message": "No"}, status)).stream("jobs/1/trace", fed.append, token="t")
    assert (caught.value.status, fed) == (status, [])


@pytest.mark.parametrize("error", [httpx2.ReadError("reset"), httpx2.ReadTimeout("late"), TimeoutError()])
async def test_a_stream_that_breaks_off_is_counted_and_told(error: Exception) -> None:
    instance = ScriptedInstance(error)
    with pytest.raises(GitLabFailure) as caught:
        await instance.stream("jobs/1/trace", lambda _: None, token="t")
    assert "broke off while it was read" in str(caught.value.data["message"])
    assert (caught.value.status, instance.answers) == (504, {0: 1})


async def test_a_stream_is_handed_on_while_it_comes_and_not_held() -> None:
    """The second half is sent when the first has been handed on."""

    async def answer_slowly(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first", "more_body": True})
        async with asyncio.timeout(30):
            while not handed_on:  # noqa: ASYNC110 - it runs on a loop of its own
                await asyncio.sleep(0.005)
        await send({"type": "http.response.body", "body": b"second"})

    handed_on: list[bytes] = []
    with running(answer_slowly) as address:
        instance = Instance(address)
        try:
            await instance.stream("jobs/1/trace", handed_on.append, token="t")
        finally:
            await instance.close()
    assert b"".join(handed_on) == b"firstsecond"


async def test_a_large_answer_that_comes_slowly_holds_up_no_other_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_TURN", 0.05)
    half, body = asyncio.Event(), b'"' + b"x" * (2 * client.LARGE) + b'"'
    goes_on = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_slow = b"/slow" in await reader.readline()
        while (await reader.readline()).strip():
            pass
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        writer.write(body[: client.LARGE + 100_000])
        await writer.drain()
        if is_slow:
            half.set()
            await goes_on.wait()
        writer.write(body[client.LARGE + 100_000 :])
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        gitlab = Instance(f"http://{host}:{port}")
        slow = asyncio.create_task(gitlab.get("slow", token=DEVELOPER))
        await half.wait()
        others = [asyncio.create_task(gitlab.get("quick", token=DEVELOPER)) for _ in range(3)]
        for other in others:
            assert (await asyncio.wait_for(other, 20)).body == body
        assert not slow.done()
        goes_on.set()
        assert (await slow).body == body
        await gitlab.close()
