"""Webhooks are made once, then changed."""

from __future__ import annotations

import pytest

from postil.core.failure import Failure, InvalidArguments
from postil.core.operation import Operation
from tests.emulator.app import Emulator
from tests.gitlab.answers import direct
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


async def test_unknown_events_are_refused_with_the_list_of_known_ones(gitlab: Groups) -> None:
    operation = Operation(gitlab.webhooks.configure_webhook)
    with pytest.raises(Failure) as caught:
        operation.decode({"project_id": 1, "url": "https://x.example", "events": ["push", "coffee"]})
    assert caught.value.code == -32602
    with pytest.raises(InvalidArguments) as empty:
        await gitlab.webhooks.configure_webhook(123, "https://x.example", [])
    assert "push, issues, merge_requests, pipelines, wiki" in empty.value.message


async def test_a_webhook_is_made_once_and_then_changed(gitlab: Groups, emulator: Emulator) -> None:
    url = "https://93.184.216.34/webhook"
    first = await gitlab.webhooks.configure_webhook(123, url, ["push", "issues", "merge_requests"])
    again = await gitlab.webhooks.configure_webhook(123, url, ["pipelines"], token="secret-of-the-hook")
    assert first.id == again.id
    assert (first.events, again.events) == (["push", "issues", "merge_requests"], ["pipelines"])
    (kept,) = emulator.world.projects[0].hooks
    assert kept["push_events"] is False
    assert "secret-of-the-hook" not in str(direct(again))
