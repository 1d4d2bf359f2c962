"""What answers hold, and what they never hold. S15."""

from __future__ import annotations

import pytest

from tests.emulator.app import Emulator
from tests.gitlab.answers import direct
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


async def test_results_never_hold_the_secrets_of_projects_and_hooks(gitlab: Groups, emulator: Emulator) -> None:
    emulator.faults.add("extra")
    made = await gitlab.webhooks.configure_webhook(123, "https://93.184.216.34/", ["push"], token="hook-secret")
    answers = [await gitlab.projects.list_projects(), await gitlab.projects.get_project(123), made]
    for answer in answers:
        assert not [
            secret for secret in ("GR1348941", "hunter2", "hook-secret", "glrt-") if secret in str(direct(answer))
        ]
        assert "from_the_future" not in str(direct(answer))
