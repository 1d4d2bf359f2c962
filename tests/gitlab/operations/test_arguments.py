"""The arguments that several operations share."""

from __future__ import annotations

import msgspec
import pytest

from postil.app import read_catalogue
from postil.core.failure import InvalidArguments
from tests.emulator.app import Emulator
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("label", ["a,b", "", "a\nb"])
async def test_a_label_that_would_become_two_is_refused(gitlab: Groups, emulator: Emulator, label: str) -> None:
    with pytest.raises(InvalidArguments):
        await gitlab.issues.create_issue(123, "x", labels=[label])
    assert emulator.seen == []


def test_no_tool_takes_a_local_path_or_fetches_an_address_of_the_callers() -> None:
    named: set[str] = set()
    for entry in read_catalogue(["gitlab"]).operations:
        named |= set(msgspec.json.decode(entry.input_schema)["properties"])
    assert {name for name in named if "url" in name or "endpoint" in name or "host" in name} == {"url"}
    assert {name for name in named if "path" in name} == {"file_path", "path"}  # of the repository, at GitLab
    assert not {name for name in named if "upload" in name or "output" in name}
