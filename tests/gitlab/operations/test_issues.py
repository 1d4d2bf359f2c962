"""Issues: found by either number, changed and noted."""

from __future__ import annotations

import asyncio

import pytest

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.operations import presentation
from tests.emulator.app import Emulator
from tests.gitlab.answers import direct
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio


async def test_an_issue_is_found_by_a_global_id_never_seen_before(gitlab: Groups) -> None:
    assert (await gitlab.issues.get_issue(123, issue_id=789)).iid == 1


async def test_a_number_that_is_no_global_id_is_taken_as_an_iid(gitlab: Groups) -> None:
    assert (await gitlab.issues.get_issue(124, issue_id=3)).title == "Public issue 3"


async def test_the_global_id_of_another_projects_issue_is_not_found_here(gitlab: Groups) -> None:
    other = direct(await gitlab.issues.list_issues(124))["issues"][0]["id"]
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.issues.get_issue(123, issue_id=other)
    assert caught.value.status == 404


async def test_an_issue_is_changed_and_noted(gitlab: Groups) -> None:
    await gitlab.issues.update_issue(
        123, 1, title="Better", state_event="close", add_labels=["x"], remove_labels=["bug"]
    )
    await gitlab.issues.create_issue_note(123, 1, "Done.")
    after = await gitlab.issues.get_issue(123, issue_iid=1)
    assert (after.title, after.state, after.labels) == ("Better", "closed", ["x"])
    notes = (await gitlab.issues.list_issue_notes(123, 1)).notes
    assert [note.body for note in notes] == ["Seen it too.\n", "Done."]
    await gitlab.issues.update_issue(123, 1, assignee_id=0)
    assert (await gitlab.issues.get_issue(123, issue_iid=1)).assignee is None


async def test_texts_that_are_slow_to_clean_hold_up_nobody_else(
    gitlab: Groups, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A description of a million joined signs: for 0.8 s nobody was answered."""
    emulator.world.projects[0].issues[0]["description"] = "\u0628\u200d" * 100_000
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    fit, at_once = presentation.fit_for_models, list[int]()

    def note(*given: object) -> object:
        before = turns
        try:
            return fit(*given)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        finally:
            at_once.append(turns - before)

    monkeypatch.setattr(presentation, "fit_for_models", note)
    counting = asyncio.create_task(count())
    await gitlab.issues.get_issue(123, issue_iid=1)
    await gitlab.issues.list_issues(123)
    counting.cancel()
    assert min(at_once) > 2
