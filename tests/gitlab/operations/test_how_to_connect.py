"""What is offered with a token and without one."""

from __future__ import annotations

import pytest

from postil.app import App
from postil.core.group import Finding
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.operations.how_to_connect import ConnectOperations
from postil.gitlab.part import GitLab
from postil.settings.model import Auth, GitLabSettings, HttpSettings, Settings, Toolset
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER, REVOKED
from tests.gitlab.calls import ENTRIES

pytestmark = pytest.mark.anyio


CONTRACT = {
    "list_projects", "get_project", "list_issues", "create_issue", "list_merge_requests", "create_merge_request",
    "list_pipelines", "trigger_pipeline", "get_file_content", "list_repository_files", "search_projects",
    "search_issues", "get_issue",
}  # fmt: skip


def offered(token: str, toolsets: tuple[Toolset, ...] = ()) -> set[str]:
    settings = Settings(parts=("gitlab",), gitlab=GitLabSettings(token=token, toolsets=toolsets))
    return {entry.name for entry in App(settings).tools() if entry.part == "gitlab"}


def test_without_a_token_one_tool_says_how_to_connect() -> None:
    assert offered("") == {"connect_gitlab"}
    assert offered("", toolsets=("issues",)) == {"connect_gitlab"}
    assert "connect_gitlab" not in offered("glpat-x")
    assert {"list_issues", "review_merge_request", "get_job_log", "get_issue"} <= offered("glpat-x")
    assert not {"configure_webhook", "search_code", "update_issue"} & offered("glpat-x")


def of_toolsets(*names: str) -> set[str]:
    return {entry.name for entry in ENTRIES.values() if entry.tool and entry.toolset in names}


def test_the_contracts_operations_and_the_chosen_toolsets_are_tools() -> None:
    assert of_toolsets("contract") == CONTRACT
    assert offered("glpat-x", ("code",)) == CONTRACT | of_toolsets("code")
    assert offered("glpat-x", ("issues", "pipelines")) == CONTRACT | of_toolsets("issues", "ci")  # an earlier name
    assert offered("glpat-x", ("all",)) == {name for name, entry in ENTRIES.items() if entry.tool} - {"connect_gitlab"}
    assert {entry.toolset for entry in ENTRIES.values()} == {
        "connect", "contract", "review", "ci", "issues", "code", "admin",
    }  # fmt: skip


def test_a_toolset_that_is_not_listed_is_no_tool_and_still_a_method() -> None:
    registry = App(Settings(gitlab=GitLabSettings(token="glpat-x", toolsets=("ci",)))).server().registry
    entry = registry.find("search_code")
    assert entry is not None
    assert not registry.is_tool(entry)
    assert registry.operation("search_code").mark.name == "search_code"


def asked(url: str, token: str = DEVELOPER) -> Finding:
    return ConnectOperations(GitLab(Connection(Instance(url), lambda: token))).check_token()


def test_the_doctor_asks_gitlab(emulator: Emulator, address: str) -> None:
    found = asked(address)
    assert found.status == "warning"  # it answers, over plain http
    assert "not encrypted" in found.seen
    assert [seen.path for seen in emulator.seen] == [
        "/api/v4/user", "/api/v4/personal_access_tokens/self", "/api/v4/version",
    ]  # fmt: skip


def test_where_callers_bring_their_tokens_the_doctor_asks_whether_gitlab_is_there(
    emulator: Emulator, address: str
) -> None:
    def ask(url: str) -> Finding:
        connection = Connection(Instance(url), lambda: "")
        return ConnectOperations(GitLab(connection, callers_bring_tokens=True)).check_token()

    found = ask(address)
    assert f"GitLab at {address} answers; every caller brings a token of their own" in found.seen
    assert [(seen.path, seen.token) for seen in emulator.seen] == [("/api/v4/version", None)]
    assert "authorization" not in emulator.seen[0].headers
    away = ask("http://127.0.0.1:9")
    assert (away.status, "cannot be reached" in away.seen) == ("error", True)


def test_the_server_s_mode_decides_who_brings_a_token() -> None:
    modes: dict[Auth, bool] = {"pat": True, "local": False}
    for auth, brought in modes.items():
        context = App(Settings(http=HttpSettings(auth=auth))).context("gitlab")
        assert isinstance(context, GitLab)
        assert context.callers_bring_tokens is brought


def test_the_doctor_says_what_is_wrong_with_the_token_and_the_address(emulator: Emulator, address: str) -> None:
    assert (asked(address, REVOKED).status, "revoked" in asked(address, REVOKED).seen) == ("error", True)
    assert asked(f"{address}/api/v4").fix == f"Set GITLAB_URL to {address}"
    away = asked("http://127.0.0.1:9")
    assert away.status == "warning"
    assert "cannot be reached" in away.seen
