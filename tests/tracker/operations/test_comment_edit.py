"""One's own comments can be changed and withdrawn; the history keeps what they said."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.tracker.failures import InvalidParams
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, run, said


def test_an_edited_comment_says_so_and_its_history_stays(tracker: Tracker):
    id_ = tracker.tools.create("T").id
    comment = str(tracker.tools.comment(id_, "frist").comment_id)
    assert tracker.comments.edit_comment(id_, comment[:6], "first").changed == ["comment edited"]
    assert tracker.comments.edit_comment(id_, comment, "first").changed == []
    (shown,) = tracker.show("issue", id_).comments
    assert (shown.body, bool(shown.edited_at)) == ("first", True)
    tracker.comments.edit_comment(id_, comment, delete=True)
    assert tracker.show("issue", id_).comments == []
    assert "frist" in str([line.what for line in tracker.history.log(id_).events])


def test_another_persons_comment_is_not_ones_own(repository: Path):
    id_ = answered(repository, "create", "issue", "T")["id"]
    comment = answered(repository, "comment", id_, "mine")["comment_id"]
    refused = run(repository, "edit-comment", id_, comment, "yours", "--author", "Eve", "--email", "eve@example.org")
    assert refused.returncode != 0
    assert "not by Eve" in refused.stderr
    said(repository, "delete-comment", id_, comment)
    assert answered(repository, "show", id_)["comments"] == []


def test_a_comment_that_is_not_there_is_told(tracker: Tracker):
    id_ = tracker.tools.create("T").id
    with pytest.raises(InvalidParams):
        tracker.comments.edit_comment(id_, "nothing", "x")
