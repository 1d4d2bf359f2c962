"""Whose token, which projects, what is kept: the rules that hold for every call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from postil.core import call
from postil.core.call import Call, Caller
from postil.core.failure import Failure, InvalidArguments
from postil.core.operation import Operation
from postil.gitlab.failures import GitLabFailure, NotOffered
from postil.gitlab.instance import connection
from postil.gitlab.instance.connection import Connection, NotConnected, NoTokenBrought, ReadOptions
from postil.gitlab.instance.records import Record
from postil.gitlab.policy.guard import WITHHELD, Guard, Policy
from postil.storage.ephemeral import MemoryEphemeralStore
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER, REVOKED, STRANGER
from tests.gitlab.calls import CALLS, ENTRIES
from tests.gitlab.conftest import Connect
from tests.gitlab.groups import Groups
from tests.gitlab.scripted import API, ScriptedInstance, answer

pytestmark = pytest.mark.anyio


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
        if (
            ENTRIES[name].effect == "reads" and name != "wait_pipeline"
        ):  # is asked for once; no write is hindered, and some look twice
            assert len(set(paths)) == len(paths), name


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
    ephemeral = cache["_ephemeral"]
    assert isinstance(ephemeral, MemoryEphemeralStore)
    kept: dict[str, object] = vars(ephemeral)["_kept"]
    assert not [name for name in kept if name.startswith("gitlab:")]
    assert not cache["_asking"]
    assert not cache["_projects"]


async def test_only_listed_projects_are_touched_however_they_are_named(connect: Connect, emulator: Emulator) -> None:
    part = connect(projects=("Username/My-Project",))
    assert (await part.projects.get_project(123)).id == 123
    assert (await part.projects.get_project("username/my-project")).id == 123
    for other in (124, "group/sub/open-tools", "GROUP/Sub/Open-Tools"):
        with pytest.raises(NotOffered):
            await part.issues.list_issues(other)
        with pytest.raises(NotOffered):
            await part.issues.create_issue(other, "x")
    with pytest.raises(InvalidArguments):
        await part.issues.list_issues("group%2Fsub%2Fopen-tools")


async def test_a_project_that_was_moved_away_is_offered_by_its_number_no_longer_than_a_minute(
    connect: Connect, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = connect(projects=("username/my-project",))
    assert (await part.projects.get_project(123)).id == 123
    emulator.world.projects[0].path = "moved"
    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 61))
    with pytest.raises(NotOffered):
        await part.projects.get_project(123)


async def test_lists_and_searches_show_only_listed_projects(connect: Connect, emulator: Emulator) -> None:
    part = connect(projects=("123",))
    assert [item.id for item in (await part.projects.list_projects()).projects] == [123]
    found = await part.issues.search_issues("issue", per_page=100)
    assert {item.project_id for item in found.issues} == {123}
    assert found.pagination.total is None
    other = emulator.world.projects[1].issues[0]["id"]
    with pytest.raises(Failure):
        await part.issues.get_issue(123, issue_id=other)


PROJECT = {"id": 7, "path_with_namespace": "Group/App", "visibility": "public"}


class Told(Call):
    """A call that remembers what was told beside the answer."""

    def __init__(self, caller: Caller | None = None) -> None:
        super().__init__(caller)
        self.headers: dict[str, str] = {}

    def tell(self, name: str, value: str) -> None:
        self.headers[name] = value


@pytest.fixture
def told() -> Generator[Told]:
    """The call in progress."""
    doing = Told()
    call.enter(doing)
    yield doing
    call.enter(Call())


def connected(instance: ScriptedInstance, *projects: str, **more: Any) -> Connection:
    return Connection(instance, lambda: "t", projects=projects, **more)


async def test_a_project_of_the_list_is_known_by_number_and_by_path() -> None:
    instance = ScriptedInstance(answer(PROJECT))
    gitlab = connected(instance, "/Group/App/", "12")
    assert await gitlab.check_project("group/app") == "projects/group%2Fapp"
    assert await gitlab.check_project(12) == "projects/12"
    assert instance.asked == [], "the list itself says so"
    assert await gitlab.check_project(7) == "projects/7"
    assert await gitlab.check_project("7") == "projects/7"
    assert instance.asked == [f"GET {API}projects/7"], "asked once"


async def test_a_project_outside_of_the_list_is_refused_and_remembered() -> None:
    instance = ScriptedInstance(answer({**PROJECT, "path_with_namespace": "other/app", "id": 8}))
    gitlab = connected(instance, "group/app")
    for _ in range(2):
        with pytest.raises(NotOffered, match="GitLab API Error"):
            await gitlab.check_project(8)
    assert len(instance.asked) == 1


async def test_what_one_token_may_see_is_not_remembered_for_another(told: Told) -> None:
    instance = ScriptedInstance(answer(PROJECT))
    gitlab = connected(instance, "group/app")
    await gitlab.check_project(7)
    told.caller = Caller("other", credential="another")
    await gitlab.check_project(7)
    assert len(instance.asked) == 2


def test_rows_outside_of_the_list_are_told_apart() -> None:
    gitlab = connected(ScriptedInstance(answer()), "group/app", "9")
    assert [gitlab.allows(Record(row)) for row in (PROJECT, {"id": 9}, {"id": 8}, {})] == [True, True, False, False]
    issues: tuple[dict[str, Any], ...]
    issues = ({"project_id": 9}, {"references": {"full": "Group/App#1"}}, {"references": {"full": "x/y#1"}}, {})
    assert [gitlab.allows_issue(Record(row)) for row in issues] == [True, True, False, False]
    free = connected(ScriptedInstance(answer()))
    assert free.allows(Record({}))
    assert free.allows_issue(Record({}))


async def test_where_only_some_projects_are_offered_totals_say_nothing() -> None:
    rows = [PROJECT, {"id": 8}]
    instance = ScriptedInstance(answer(rows, x_total="2", x_total_pages="1"))
    limited, free = connected(instance, "group/app"), connected(instance)
    shown, pagination = await limited.get_page("projects", {}, keeps=limited.allows)
    assert ([row.number("id") for row in shown], pagination.total, pagination.total_pages) == ([7], None, None)
    for everything, page in (await free.get_page("projects", {}, keeps=free.allows), await limited.get_page("x", {})):
        assert (len(everything), page.total) == (2, 2)


async def test_every_page_is_read_until_there_is_no_next_or_ten_were_read() -> None:
    more, last = answer([{"id": 1}], x_next_page="2"), answer([{"id": 2}, "odd"])
    instance = ScriptedInstance(more, last)
    assert [row.number("id") async for row in connected(instance).get_every("x")] == [1, 2]
    assert instance.asked == [f"GET {API}x?page=1&per_page=100", f"GET {API}x?page=2&per_page=100"]
    endless = ScriptedInstance(more)
    assert len([row async for row in connected(endless).get_every("x")]) == 10


async def test_an_answer_of_another_shape_is_unreadable() -> None:
    for body in ([1], "x", None, b"<html>"):
        with pytest.raises(GitLabFailure, match="Internal error"):
            await connected(ScriptedInstance(answer(body))).get_one("x")
    for body in ({"message": "no"}, None, b"<html>"):
        with pytest.raises(GitLabFailure, match="Internal error"):
            await connected(ScriptedInstance(answer(body))).get_page("x", {})
    assert not (await connected(ScriptedInstance(answer({}))).get_one("x")).fields


async def test_gitlabs_limits_are_told_under_names_of_their_own(told: Told) -> None:
    limits = {"ratelimit_limit": "600", "ratelimit_remaining": "599", "ratelimit_reset": "soon"}
    await connected(ScriptedInstance(answer({}, 200, **limits))).get_one("x")
    assert told.headers == {"X-GitLab-RateLimit-Limit": "600", "X-GitLab-RateLimit-Remaining": "599"}
    told.headers.clear()
    await connected(ScriptedInstance(answer({}, 201, **limits))).send("POST", "x", {})
    assert "X-GitLab-RateLimit-Limit" in told.headers


async def test_only_who_asks_for_it_gets_a_kept_answer_and_is_told(told: Told) -> None:
    instance = ScriptedInstance(answer({"id": 1}))
    gitlab = connected(instance)
    kept = ReadOptions(cache=True)
    assert [(await gitlab.get_one("projects/1", None, kept), told.headers.get("X-Cache"))[1] for _ in range(2)] == [
        "MISS",
        "HIT",
    ]
    await gitlab.get_one("projects/1")
    assert len(instance.asked) == 2
    await gitlab.send("PUT", "projects/1/issues/1", {})
    await gitlab.get_one("projects/1", None, kept)
    assert told.headers["X-Cache"] == "MISS", "the write made it old"


async def test_a_write_that_fails_makes_kept_answers_old_too(told: Told) -> None:
    instance = ScriptedInstance(answer({"id": 1}), answer({}, 500), answer({"id": 2}))
    gitlab = connected(instance)
    await gitlab.get_one("projects/1", None, ReadOptions(cache=True))
    with pytest.raises(GitLabFailure):
        await gitlab.send("PUT", "projects/1/issues/1", {})
    assert (await gitlab.get_one("projects/1", None, ReadOptions(cache=True))).number("id") == 2


async def test_fields_that_are_none_are_not_sent_and_empty_ones_are() -> None:
    instance = ScriptedInstance(answer(b"", 201))
    assert not await connected(instance).send(
        "POST", "x", {"title": "T", "labels": None, "assignee_ids": [], "draft": False}
    )
    assert instance.requests[0].content == b'{"title":"T","assignee_ids":[],"draft":false}'


def test_texts_are_escaped_unless_quick_actions_are_allowed() -> None:
    nobody = ScriptedInstance(answer())
    assert [connected(nobody).escape(text) for text in ("/close", "plain", None)] == ["\\/close", "plain", None]
    assert connected(nobody, allow_quick_actions=True).escape("/close") == "/close"


async def test_a_global_id_is_looked_up_once_and_learnt_from_answers() -> None:
    instance = ScriptedInstance(answer({"data": {"issue": {"iid": "3"}}}))
    gitlab = connected(instance)
    assert await gitlab.find_iid(789) == 3
    assert b"gid://gitlab/Issue/789" in instance.requests[0].content
    gitlab.learn_issues([Record({"id": 789, "iid": 4}), Record({"id": 790}), Record({"iid": 5})])
    assert await gitlab.find_iid(789) == 4
    assert len(instance.requests) == 1
    assert await gitlab.find_iid(790) == 3, "half of a pair is not learnt"


@pytest.mark.parametrize(
    "said", [answer({}, 403), answer({"data": None}), answer({"data": {"issue": None}}), answer(b"x")]
)
async def test_a_global_id_that_nobody_knows_has_no_iid(said: httpx2.Response) -> None:
    assert await connected(ScriptedInstance(said)).find_iid(789) is None


async def test_lists_of_issues_teach_and_other_lists_do_not() -> None:
    instance = ScriptedInstance(answer([{"id": 1, "iid": 9}]))
    gitlab = connected(instance)
    await gitlab.get_page("projects/7/merge_requests", {})
    assert await gitlab.find_iid(1) is None
    await gitlab.get_page("projects/7/issues", {})
    assert await gitlab.find_iid(1) == 9


async def test_what_was_learnt_is_bounded_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_LEARNT", 2)
    gitlab = connected(ScriptedInstance(answer({})))
    gitlab.learn_issues(Record({"id": number, "iid": number}) for number in (1, 2, 3))
    assert [await gitlab.find_iid(number) for number in (1, 2, 3)] == [None, 2, 3]


async def test_a_token_is_the_callers_own_or_the_local_users(told: Told) -> None:
    gitlab = Connection(ScriptedInstance(answer()), lambda: "")
    assert not gitlab.is_connected
    with pytest.raises(NotConnected):
        gitlab.token()
    assert connected(ScriptedInstance(answer())).is_connected
    told.caller = Caller("somebody")
    with pytest.raises(NoTokenBrought, match="GitLab API Error"):
        connected(ScriptedInstance(answer())).token()
    told.caller = Caller("somebody", credential="mine")
    assert connected(ScriptedInstance(answer())).token() == "mine"


async def test_what_was_read_in_private_is_not_written_in_public(told: Told) -> None:
    private, public = answer({"visibility": "private"}), answer({"visibility": "public"})
    instance = ScriptedInstance(private, answer({"iid": 1}), public)
    gitlab = connected(instance, guard=Guard(Policy(no_private_to_public=True)))
    assert (await gitlab.get_one("projects/1/issues/1")).number("iid") == 1
    with pytest.raises(NotOffered, match="GitLab API Error"):
        await gitlab.send("POST", "projects/2/issues", {"title": "T"})
    assert instance.asked == [f"GET {API}projects/1", f"GET {API}projects/1/issues/1", f"GET {API}projects/2"]
    assert told.headers["X-GitLab-Visibility"] == "private"


async def test_a_file_that_holds_no_rows_counts_as_read_too() -> None:
    instance = ScriptedInstance(answer({"visibility": "private"}), answer(b"log"), answer({"visibility": "public"}))
    gitlab = connected(instance, guard=Guard(Policy(no_private_to_public=True)))
    assert (await gitlab.get("projects/1/jobs/1/trace")).body == b"log"
    with pytest.raises(NotOffered):
        await gitlab.send("POST", "projects/2/issues", {"title": "T"})


async def test_a_log_that_is_read_piece_by_piece_counts_as_read_too() -> None:
    instance = ScriptedInstance(answer({"visibility": "private"}), answer(b"log"), answer({"visibility": "public"}))
    gitlab = connected(instance, guard=Guard(Policy(no_private_to_public=True)))
    fed: list[bytes] = []
    await gitlab.stream("projects/1/jobs/1/trace", fed.append)
    assert b"".join(fed) == b"log"
    with pytest.raises(NotOffered):
        await gitlab.send("POST", "projects/2/issues", {"title": "T"})
    assert instance.asked == [f"GET {API}projects/1", f"GET {API}projects/1/jobs/1/trace", f"GET {API}projects/2"]


async def test_strangers_words_are_withheld_from_pages_and_single_things() -> None:
    row = {"title": "T", "author": {"id": 9}}
    public, nobody = answer({"visibility": "public"}), answer({"message": "404 Not found"}, 404)
    locked = Guard(Policy(lockdown=True))
    instance = ScriptedInstance(public, answer([row]), nobody, answer(row))
    gitlab = connected(instance, guard=locked)
    ((listed,), _) = await gitlab.get_page("projects/2/issues", {})
    single = await gitlab.get_one("projects/2/issues/1")
    assert [listed.text("title"), single.text("title")] == [WITHHELD, WITHHELD]
    plain = connected(ScriptedInstance(answer(row)))
    assert (await plain.get_one("projects/2/issues/1")).text("title") == "T"


async def test_a_project_that_cannot_be_read_as_json_stops_the_rules() -> None:
    strict = Guard(Policy(no_private_to_public=True))
    with pytest.raises(GitLabFailure) as caught:
        await connected(ScriptedInstance(answer(b"<html>")), guard=strict).get("projects/1")
    assert (caught.value.status, caught.value.data["upstream_status"]) == (502, 200)
    await connected(ScriptedInstance(answer(b"null")), guard=strict).get("projects/1")


def test_without_a_token_the_status_is_401_and_the_advice_says_how() -> None:
    assert [(failure.status, failure.code) for failure in (NotConnected(), NoTokenBrought())] == [(401, -32000)] * 2
    assert "GITLAB_TOKEN" in NotConnected().advice
    assert "PRIVATE-TOKEN" in NoTokenBrought().advice


async def test_who_says_nothing_of_pages_gets_the_first_twenty() -> None:
    instance = ScriptedInstance(answer([]))
    await connected(instance).get_page("projects", {})
    assert instance.asked == [f"GET {API}projects?page=1&per_page=20"]
