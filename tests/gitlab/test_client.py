"""The client layer: busy, broken, slow and lying upstreams; redirects, cookies, secrets. S12, S13, S14, S15, S31."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from email.utils import formatdate

import pytest

from postil.core import call
from postil.core.call import Call, Caller
from postil.core.failure import Failure
from postil.core.operation import Operation
from postil.gitlab.failures import GitLabFailure, GitLabUnreachable, UnknownOutcome, flatten, read_refusal
from postil.gitlab.instance import retries
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.redaction import redact
from postil.gitlab.part import GitLab
from postil.storage.ephemeral import MemoryEphemeralStore
from tests.emulator.app import Emulator
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER, FILES_ONLY, READER, REVOKED, STRANGER
from tests.gitlab.answers import direct
from tests.gitlab.calls import CALLS, ENTRIES
from tests.gitlab.conftest import Connect, Naps
from tests.gitlab.groups import Groups

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


async def test_a_long_retry_after_is_the_callers_to_wait_for() -> None:
    assert retries.choose_pause(1, 429, 31.0) is None
    assert retries.choose_pause(1, 429, 30.0) is not None


def test_retry_after_is_read_in_both_forms() -> None:
    now = time.time()
    assert retries.read_retry_after({"retry-after": "7"}, now) == 7
    dated = retries.read_retry_after({"retry-after": formatdate(now + 60, usegmt=True)}, now)
    assert dated is not None
    assert 58 < dated <= 60
    assert retries.read_retry_after({"retry-after": "soon"}, now) is None
    assert retries.read_retry_after({}, now) is None


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
    await gitlab.merge_requests.comment_on_merge_request(123, 1, "Accepted")
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
        part = Groups(GitLab(address, lambda: DEVELOPER, instance=Instance(address, sleep=naps)))
        made = await part.issues.create_issue(123, "Accepted")
        await part.close()
    assert (made.id, made.iid) == (None, None)
    assert "Do not send it again" in made.for_model()
    assert heard == [b"POST /api/v4/projects/123/issues HTTP/1.1\r\n"]


async def test_a_write_whose_connection_ends_without_a_status_has_an_unknown_outcome(naps: Naps) -> None:
    async with answering(b"") as (address, heard):
        part = Groups(GitLab(address, lambda: DEVELOPER, instance=Instance(address, sleep=naps)))
        with pytest.raises(UnknownOutcome):
            await part.issues.create_issue(123, "Who knows")
        assert len(heard) == 1
        with pytest.raises(GitLabUnreachable):
            await part.projects.get_project(123)
        await part.close()
    assert len(heard) == 4  # a read is asked three times


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
    assert caught.value.code == -32603


async def test_nobody_listening_is_unreachable(naps: Naps) -> None:
    nowhere = "http://127.0.0.1:1"
    part = Groups(GitLab(nowhere, lambda: DEVELOPER, instance=Instance(nowhere, sleep=naps)))
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


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"message":"404 Project Not Found"}', "Project not found"),
        (b'{"message":"401 Unauthorized"}', "Unauthorized"),
        (b'{"message":["One","Two"]}', "One; Two"),
        (b'{"message":{"base":["Reference not found"]}}', "Reference not found"),
        (b'{"message":{"title":["can\'t be blank"]}}', "Title can't be blank"),
        (b'{"error":"title is missing"}', "Title is missing"),
        (b'{"error":"invalid_token","error_description":"Token was revoked."}', "Token was revoked."),
        (b"Retry later\n", "Retry later"),
        (b"<html>no</html>", "Bad gateway"),
        (b"", "Bad gateway"),
        (b'{"message":null}', "Bad gateway"),
        (b"[[[[", "[[[["),
    ],
)
def test_every_form_of_gitlabs_message_becomes_one_sentence(body: bytes, said: str) -> None:
    assert flatten(502, body) == said


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, -32602),
        *((status, -32000) for status in (401, 403, 404, 405, 409, 412, 422, 429)),
        *((status, -32603) for status in (500, 502, 503, 504)),
    ],
)
def test_every_status_has_the_contracts_code(status: int, code: int) -> None:
    failure = read_refusal(status, b"{}", {}, None, "")
    assert (failure.code, failure.data["status"]) == (code, status)


async def test_a_missing_scope_is_named(connect: Connect) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await connect(READER).issues.create_issue(123, "No")
    assert caught.value.data["required_scopes"] == ["api"]
    assert (await connect(FILES_ONLY).repository.get_file_content(123, "README.md")).size == 1024
    with pytest.raises(GitLabFailure):
        await connect(FILES_ONLY).issues.list_issues(123)


async def test_a_revoked_token_and_a_strangers_are_refused(connect: Connect) -> None:
    with pytest.raises(GitLabFailure) as caught:
        await connect(REVOKED).projects.get_project(123)
    assert caught.value.data["status"] == 401
    with pytest.raises(GitLabFailure) as unseen:
        await connect(STRANGER).projects.get_project(123)
    assert unseen.value.data["message"] == "Project not found"


async def test_the_callers_own_token_comes_before_the_configured_one(connect: Connect, emulator: Emulator) -> None:
    part = connect("")
    with pytest.raises(GitLabFailure) as caught:
        await part.projects.get_project(123)
    assert "GITLAB_TOKEN" in caught.value.advice

    async def as_caller() -> None:
        call.enter(Call(Caller(credential=DEVELOPER, surface="http")))
        await part.projects.get_project(123)

    await asyncio.create_task(as_caller())
    assert emulator.seen[-1].token == DEVELOPER


async def test_the_configured_token_is_lent_to_nobody_but_the_local_user(connect: Connect, emulator: Emulator) -> None:
    part = connect(DEVELOPER)

    async def as_another() -> None:
        call.enter(Call(Caller("oauth:https://issuer.example:alice", surface="http")))
        await part.projects.get_project(123)

    with pytest.raises(GitLabFailure) as caught:
        await asyncio.create_task(as_another())
    assert caught.value.status == 401
    assert "PRIVATE-TOKEN" in caught.value.advice
    assert not emulator.seen


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


def test_secrets_are_struck_out_of_what_gitlab_says() -> None:
    said = redact("token glpat-abcdef123456 at https://me:pw@host/x whsec_c2VjcmV0 and mine", "mine")
    assert said == "token [hidden] at https://[hidden]@host/x [hidden] and [hidden]"


async def test_results_never_hold_the_secrets_of_projects_and_hooks(gitlab: Groups, emulator: Emulator) -> None:
    emulator.faults.add("extra")
    made = await gitlab.webhooks.configure_webhook(123, "https://93.184.216.34/", ["push"], token="hook-secret")
    answers = [await gitlab.projects.list_projects(), await gitlab.projects.get_project(123), made]
    for answer in answers:
        assert not [
            secret for secret in ("GR1348941", "hunter2", "hook-secret", "glrt-") if secret in str(direct(answer))
        ]
        assert "from_the_future" not in str(direct(answer))


async def test_a_cached_answer_is_served_revalidated_and_purged(gitlab: Groups, emulator: Emulator) -> None:
    for _ in range(3):
        await gitlab.issues.list_issues(123, cache=True, cache_ttl=300)
    assert len(emulator.seen) == 1
    await gitlab.issues.create_issue(123, "New")
    assert len((await gitlab.issues.list_issues(123, cache=True)).issues) == 2
    await gitlab.projects.list_projects(cache=True, cache_ttl=0)
    await gitlab.projects.list_projects(cache=True, cache_ttl=0)
    assert emulator.seen[-1].status == 304


async def test_caching_may_be_asked_for_beside_any_call(gitlab: Groups, emulator: Emulator) -> None:
    for name, given in CALLS.items():
        if not ENTRIES[name].open_world:
            continue
        emulator.reset()
        operation = Operation(gitlab.method(name))
        for _ in range(2 if ENTRIES[name].effect == "reads" else 1):
            await operation.run(**operation.decode({**given, "cache": True, "cache_ttl": 60}))
        asked = [
            seen for seen in emulator.seen if seen.method == "GET" and not seen.path.endswith(("/trace", "/hooks"))
        ]
        paths = [(seen.path, seen.query) for seen in asked]
        assert len(set(paths)) == len(paths), name  # a read is asked for once, and no write is hindered


async def test_a_write_by_path_forgets_what_was_kept_by_number(gitlab: Groups, emulator: Emulator) -> None:
    assert len((await gitlab.issues.list_issues(123, cache=True)).issues) == 1
    await gitlab.issues.list_issues(124, cache=True)
    await gitlab.issues.create_issue("username/my-project", "New")
    assert len((await gitlab.issues.list_issues(123, cache=True)).issues) == 2
    await gitlab.issues.list_issues(123, cache=True)
    await gitlab.issues.create_issue(124, "New")
    await gitlab.issues.list_issues(123, cache=True)
    assert len(emulator.seen) == 5  # another number's write forgets nothing of this one


async def test_equal_reads_at_once_ask_gitlab_once(gitlab: Groups, emulator: Emulator) -> None:
    await asyncio.gather(*(gitlab.projects.get_project(123, cache=True) for _ in range(20)))
    assert len(emulator.seen) == 1


async def test_one_tokens_cached_answer_is_never_anothers(connect: Connect, emulator: Emulator) -> None:
    part = connect("")

    async def read(token: str) -> int:
        call.enter(Call(Caller(credential=token)))
        return len((await part.projects.list_projects(cache=True)).projects)

    first = await asyncio.create_task(read(DEVELOPER))
    second = await asyncio.create_task(read(STRANGER))
    assert (first, second) == (3, 2)


async def test_garbage_tokens_leave_nothing_behind(connect: Connect, emulator: Emulator) -> None:
    part = connect("")

    async def read(token: str) -> None:
        call.enter(Call(Caller(credential=token)))
        with pytest.raises(GitLabFailure):
            await part.projects.get_project(123, cache=True)

    for number in range(300):
        await asyncio.create_task(read(f"glpat-garbage{number}"))
    for name in ("_issues", "_projects"):
        assert len(getattr(part.context.connection, name)) == 0
    cache = vars(part.context.connection.cache)
    moments = cache["_moments"]
    assert isinstance(moments, MemoryEphemeralStore)
    kept: dict[str, object] = vars(moments)["_kept"]
    assert not [name for name in kept if name.startswith("gitlab:")]
    assert not cache["_asking"]
    assert not cache["_projects"]
