"""Quick actions in a text of ours do nothing. S28."""

from __future__ import annotations

import pytest

from postil.gitlab.policy.quick_actions import escape_quick_actions
from tests.emulator.app import Emulator
from tests.gitlab.conftest import Connect
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("/close", "\\/close"),
        ("Text\n/assign @me", "Text\n\\/assign @me"),
        ("Text\n  /label ~bug\nmore", "Text\n  \\/label ~bug\nmore"),
        ("a\r/close", "a\r\\/close"),
        ("/usr/bin/env is a path", "/usr/bin/env is a path"),
        ("see a/b and /close in a line", "see a/b and /close in a line"),
    ],
)
def test_quick_actions_are_escaped_and_paths_are_not(written: str, sent: str) -> None:
    assert escape_quick_actions(written) == sent
    assert escape_quick_actions(sent) == sent


async def test_a_text_of_ours_does_not_act(gitlab: Groups, emulator: Emulator) -> None:
    await gitlab.issues.create_issue(123, "Title", "Body\n/close\n/confidential")
    made = emulator.world.projects[0].issues[-1]
    assert (made["state"], made["confidential"]) == ("opened", False)
    assert made["description"] == "Body\n\\/close\n\\/confidential"
    await gitlab.issues.create_issue_note(123, 1, "/close")
    await gitlab.issues.update_issue(123, 1, description="/close")
    assert emulator.world.projects[0].issues[0]["state"] == "opened"


async def test_quick_actions_act_where_the_operator_allows_them(connect: Connect, emulator: Emulator) -> None:
    await connect(allow_quick_actions=True).issues.create_issue(123, "Title", "Body\n/close")
    assert emulator.world.projects[0].issues[-1]["state"] == "closed"
