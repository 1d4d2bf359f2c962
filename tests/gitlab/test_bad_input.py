"""What callers may not say: ids and paths that leave their route, projects that are not offered. S1, S3-S5, S7."""

from __future__ import annotations

import re
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from postil.app import App, read_catalogue
from postil.core.delivery import Delivery
from postil.core.failure import Failure, InvalidArguments
from postil.core.operation import Operation
from postil.core.registry import Offer, Registry
from postil.gitlab.events import EventLog
from postil.gitlab.failures import NotOffered
from postil.gitlab.instance import identifiers
from postil.gitlab.part import GitLab
from postil.gitlab.policy.webhook_address import is_public
from postil.settings.model import GitLabSettings, Settings
from postil.storage.memory import MemoryState
from tests.emulator.app import Emulator
from tests.gitlab.calls import ENTRIES
from tests.gitlab.conftest import Connect
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio

PROJECTS = [
    "..",
    ".",
    "",
    "/",
    "a",
    "%2e%2e",
    "%2e%2e/%2e%2e",
    "1/../2",
    "a/..",
    "a/./b",
    "1?x=1",
    "1#",
    "1%00",
    "a/b\n",
    "a/b\r\nX: y",
    "a//b",
    "a/b/",
    "a b/c",
    "é/b",
    "x/" + "y" * 300,
    "9" * 30,
    "-1",
    "a\\b/c",
]


@pytest.mark.parametrize("project", PROJECTS)
async def test_a_project_that_is_no_id_and_no_path_never_reaches_gitlab(
    gitlab: Groups, emulator: Emulator, project: str
) -> None:
    with pytest.raises(InvalidArguments) as caught:
        await gitlab.issues.list_issues(project)
    assert caught.value.code == -32602
    assert emulator.seen == []


@pytest.mark.parametrize("number", [0, -1, 2**63])
async def test_an_id_that_no_database_holds_never_reaches_gitlab(
    gitlab: Groups, emulator: Emulator, number: int
) -> None:
    for work in (
        gitlab.projects.get_project(number),
        gitlab.issues.get_issue(123, issue_iid=number),
        gitlab.pipelines.get_pipeline(123, number),
    ):
        with pytest.raises(InvalidArguments):
            await work
    assert emulator.seen == []


@pytest.mark.parametrize(
    "path",
    ["../../x", "a/../../b", "%2e%2e/x", "/etc/passwd", "a//b", ".", "..", "a\x00b", "a\nb", "a\\b", "", "x" * 5000],
)
async def test_a_file_path_that_leaves_the_repository_never_reaches_gitlab(
    gitlab: Groups, emulator: Emulator, path: str
) -> None:
    with pytest.raises(InvalidArguments):
        await gitlab.repository.get_file_content(123, path)
    assert emulator.seen == []


@pytest.mark.parametrize("ref", ["-x", "a..b", "a b", "a\n", "", "x^{}", "a:b"])
async def test_a_ref_that_is_no_ref_never_reaches_gitlab(gitlab: Groups, emulator: Emulator, ref: str) -> None:
    with pytest.raises(InvalidArguments):
        await gitlab.repository.get_file_content(123, "README.md", ref)
    with pytest.raises(InvalidArguments):
        await gitlab.pipelines.trigger_pipeline(123, ref)
    assert emulator.seen == []


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_accepted_stays_in_its_own_segment(project: str, path: str) -> None:
    try:
        route = identifiers.make_route(
            "projects", identifiers.check_project(project), "files", identifiers.check_file_path(path)
        )
    except InvalidArguments:
        return
    segments = route.split("/")
    assert len(segments) == 4
    assert [unquote(segment) for segment in segments] == ["projects", project, "files", path]
    assert not {".", ".."} & set(segments)
    assert re.fullmatch(r"[A-Za-z0-9_.~%/-]+", route)


async def test_every_request_matches_the_template_of_its_route(gitlab: Groups, emulator: Emulator) -> None:
    await gitlab.repository.get_file_content("username/my-project", "src/lib/deep.py")
    assert emulator.seen[0].path == "/api/v4/projects/username%2Fmy-project/repository/files/src%2Flib%2Fdeep.py"


@pytest.mark.parametrize("label", ["a,b", "", "a\nb"])
async def test_a_label_that_would_become_two_is_refused(gitlab: Groups, emulator: Emulator, label: str) -> None:
    with pytest.raises(InvalidArguments):
        await gitlab.issues.create_issue(123, "x", labels=[label])
    assert emulator.seen == []


async def test_unknown_events_are_refused_with_the_list_of_known_ones(gitlab: Groups) -> None:
    operation = Operation(gitlab.webhooks.configure_webhook)
    with pytest.raises(Failure) as caught:
        operation.decode({"project_id": 1, "url": "https://x.example", "events": ["push", "coffee"]})
    assert caught.value.code == -32602
    with pytest.raises(InvalidArguments) as empty:
        await gitlab.webhooks.configure_webhook(123, "https://x.example", [])
    assert "push, issues, merge_requests, pipelines, wiki" in empty.value.message


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://0.0.0.0/",
        "https://169.254.169.254/latest",
        "https://100.64.0.1/",
        "https://[::ffff:169.254.169.254]/",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://[2002:7f00:1::]/",
        "https://192.88.99.1/",
        "https://2130706433/",
        "https://0177.0.0.1/",
        "https://localhost./",
        "https://user:pw@93.184.216.34/",
        "https://",
        "https://a\nb/",
        "file:///etc/passwd",
    ],
)
async def test_a_webhook_never_points_inside(gitlab: Groups, emulator: Emulator, url: str) -> None:
    with pytest.raises(InvalidArguments):
        await gitlab.webhooks.configure_webhook(123, url, ["push"])
    assert emulator.seen == []


def test_public_addresses_are_public() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")


async def test_a_read_only_server_sends_no_write(connect: Connect, emulator: Emulator) -> None:
    part = connect(read_only=True)
    for work in (
        part.issues.create_issue(123, "x"),
        part.issues.update_issue(123, 1, title="x"),
        part.issues.create_issue_note(123, 1, "x"),
        part.merge_requests.create_merge_request(123, "x", "other", "main"),
        part.merge_requests.comment_on_merge_request(123, 1, "x"),
        part.merge_requests.resolve_discussion(123, 1, "abc"),
        part.pipelines.trigger_pipeline(123, "main"),
        part.webhooks.configure_webhook(123, "https://93.184.216.34/", ["push"]),
    ):
        with pytest.raises(NotOffered):
            await work
    await part.issues.get_issue(123, issue_id=789)
    assert {seen.method for seen in emulator.seen if not seen.path.endswith("graphql")} == {"GET"}


async def test_a_read_only_server_offers_no_write_at_all(gitlab: Groups) -> None:
    offered = Registry.of(gitlab.living(), Offer(read_only=True))
    assert {entry.effect for entry in offered.operations.values()} == {"reads"}
    assert "create_issue" not in offered.operations


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


async def test_lists_and_searches_show_only_listed_projects(connect: Connect, emulator: Emulator) -> None:
    part = connect(projects=("123",))
    assert [item.id for item in (await part.projects.list_projects()).projects] == [123]
    found = await part.issues.search_issues("issue", per_page=100)
    assert {item.project_id for item in found.issues} == {123}
    assert found.pagination.total is None
    other = emulator.world.projects[1].issues[0]["id"]
    with pytest.raises(Failure):
        await part.issues.get_issue(123, issue_id=other)


async def test_only_events_of_listed_projects_are_shown(address: str) -> None:
    log = EventLog(MemoryState())
    for number, path in ((123, "username/my-project"), (124, "group/sub/open-tools"), (None, "")):
        log.keep(Delivery(f"of-{number}", "push", number, path, 0.0, Raw(b"{}")))
    for allowed, seen in (((), 3), (("123",), 1), (("Username/My-Project",), 1), (("124",), 1), (("9",), 0)):
        part = Groups(GitLab(address, lambda: "", projects=allowed, events=log))
        assert len((await part.events.list_webhook_events()).events) == seen, allowed


def test_no_tool_takes_a_local_path_or_fetches_an_address_of_the_callers() -> None:
    named: set[str] = set()
    for entry in read_catalogue(["gitlab"]).operations:
        named |= set(msgspec.json.decode(entry.input_schema)["properties"])
    assert {name for name in named if "url" in name or "endpoint" in name or "host" in name} == {"url"}
    assert {name for name in named if "path" in name} == {"file_path", "path"}  # of the repository, at GitLab
    assert not {name for name in named if "upload" in name or "output" in name}


def offered(token: str, toolsets: tuple[str, ...] = ()) -> set[str]:
    settings = Settings(parts=("gitlab",), gitlab=GitLabSettings(token=token, toolsets=toolsets))
    return {entry.name for entry in App(settings).registry().tools if entry.part == "gitlab"}


def test_without_a_token_one_tool_says_how_to_connect() -> None:
    assert offered("") == {"connect_gitlab"}
    assert offered("", toolsets=("issues",)) == {"connect_gitlab"}
    assert "connect_gitlab" not in offered("glpat-x")
    assert {"list_issues", "configure_webhook"} <= offered("glpat-x")


def test_only_the_chosen_toolsets_are_offered() -> None:
    some = offered("glpat-x", toolsets=("issues", "pipelines"))
    chosen = {entry.name for entry in ENTRIES.values() if entry.toolset in ("issues", "pipelines")}
    assert some == chosen
    assert {"search_issues", "trigger_pipeline"} <= some
    assert {entry.toolset for entry in ENTRIES.values()} == {
        "connect", "projects", "issues", "merge_requests", "pipelines", "repository", "webhooks",
    }  # fmt: skip
