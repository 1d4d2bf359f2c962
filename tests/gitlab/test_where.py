"""What a caller points at: numbers, paths, references, addresses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from postil.core.failure import Failure
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.standing import Standing
from postil.gitlab.where import Pointer, Reference
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER

pytestmark = pytest.mark.anyio
URL = "https://gitlab.example.com"


MADE: list[Instance] = []


@pytest.fixture
async def closed() -> AsyncGenerator[None]:
    """Close every pool that a test opened, on the loop that it was opened on."""
    yield
    while MADE:
        await MADE.pop().close()


def pointer(url: str = URL) -> Pointer:
    MADE.append(Instance(url))
    connection = Connection(MADE[-1], lambda: DEVELOPER)
    return Pointer(connection, Standing(connection))


READ: list[tuple[Any, str, Reference]] = [
    (12, "project_id", Reference(12)),
    ("12", "issue_iid", Reference(number=12)),
    ("group/sub/project", "project_id", Reference("group/sub/project")),
    ("group/project!12", "merge_request_iid", Reference("group/project", "!", 12)),
    ("#34", "issue_iid", Reference(None, "#", 34)),
    (f"{URL}/group/project", "project_id", Reference("group/project")),
    (f"{URL}/group/project/-/issues/34#note_5", "issue_iid", Reference("group/project", "#", 34)),
    (f"{URL}/group/project/-/merge_requests/12/diffs?x=1", "project_id", Reference("group/project", "!", 12)),
]


@pytest.mark.parametrize(("given", "name", "meant"), READ)
def test_what_points_at_something_is_read(given: Any, name: str, meant: Reference) -> None:
    assert pointer().read(given, name) == meant


@pytest.mark.parametrize(
    "given",
    [
        "https://gitlab.example.com.evil.org/group/project",
        "https://gitlab.example.com@evil.org/group/project",
        "https://user@gitlab.example.com/group/project",
        "https://evil.org/group/project",
        "https://gitlab.example.com:444/group/project",
        "https://gitlab.example.com/../x",
        f"{URL}/group/%2e%2e/x",
        f"{URL}/",
        "http://[",
        "!12/..",
    ],
)
def test_addresses_of_others_and_traps_are_refused(given: str) -> None:
    with pytest.raises(Failure):
        pointer().read(given, "project_id")


@pytest.mark.usefixtures("closed")
async def test_one_argument_may_say_project_and_number(emulator: Emulator, address: str) -> None:
    point = pointer(address)
    route = "projects/username%2Fmy-project/merge_requests/1"
    assert await point.merge_request("username/my-project!1", None) == route
    assert await point.merge_request(None, f"{address}/username/my-project/-/merge_requests/1") == route
    assert await point.issue("username/my-project", "#1") == "projects/username%2Fmy-project/issues/1"
    for project, iid in (("username/my-project", "other/project!1"), (123, "#1"), (123, f"{address}/a/b/-/jobs/1")):
        with pytest.raises(Failure, match="merge_request_iid"):
            await point.merge_request(project, iid)
