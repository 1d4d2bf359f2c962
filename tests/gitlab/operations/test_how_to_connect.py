"""What is offered with a token and without one."""

from __future__ import annotations

import pytest

from postil.app import App
from postil.settings.model import GitLabSettings, Settings
from tests.gitlab.calls import ENTRIES

pytestmark = pytest.mark.anyio


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
