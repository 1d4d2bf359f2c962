"""Reviewing: changes that fit, comments on lines, reviews submitted as one, also after a push."""

from __future__ import annotations

from typing import Any

import pytest

from postil.core.failure import Failure
from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.records import Record
from postil.gitlab.operations.reviews import ReviewComment
from tests.emulator.app import Emulator
from tests.emulator.changes import changed
from tests.emulator.world import DEVELOPER
from tests.gitlab.answers import direct, text
from tests.gitlab.groups import Groups

pytestmark = pytest.mark.anyio
LARGE = "".join(f"line {number}\n" for number in range(20_000))


async def test_a_diff_of_megabytes_fits_and_every_file_is_named(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    files = [changed(f"src/{number}.py", f"src/{number}.py", "", LARGE) for number in range(15)]
    emulator.world.push(project, project.merge_requests[0], files)
    whole = await gitlab.review.get_merge_request_diff(123, 1)
    assert len(text(whole).encode()) <= 24_000
    assert all(f"+++ src/{number}.py" in text(whole) for number in range(15))
    assert len(str(direct(whole))) > 3_000_000  # a program gets all of it
    assert "path=src/14.py gets them" in text(whole)
    seen = 0
    lines = "1-"
    while True:
        part = await gitlab.review.get_merge_request_diff(123, 1, path="src/3.py", lines=lines, max_bytes=200_000)
        (shown,) = part.diffs
        assert len(text(part).encode()) <= 200_000
        seen += (shown.diff or "").count("+line")
        if "goes on" not in (shown.left_out or ""):
            break
        lines = (shown.left_out or "").partition("lines=")[2].partition(" ")[0]
    assert seen == 20_000


async def test_a_diff_says_what_became_of_each_file(gitlab: Groups, emulator: Emulator) -> None:
    project = emulator.world.projects[0]
    files = [
        changed("a", "b", "x\n", "x\n"),
        changed("gone", "gone", "x\n", None),
        changed("new", "new", None, "x\n"),
        changed("big", "big", "x\n", "y\n") | {"diff": "", "too_large": True},
        changed("shut", "shut", "x\n", "y\n") | {"diff": "", "collapsed": True},
    ]
    emulator.world.push(project, project.merge_requests[0], files)
    said = text(await gitlab.review.get_merge_request_diff(123, 1))
    for words in ("renamed from a", "deleted", "new file", "too large", "collapsed"):
        assert words in said


async def test_a_comment_stands_on_its_line_with_a_suggestion(gitlab: Groups, emulator: Emulator) -> None:
    noted = await gitlab.review.comment_on_merge_request(
        123, 1, "Shorter", path="src/app.py", line=1, suggestion="print()"
    )
    assert noted.discussion_id is not None
    kept = emulator.world.projects[0].merge_requests[0]["discussions"][-1]["notes"][0]
    assert kept["body"] == "Shorter\n\n```suggestion:-0+0\nprint()\n```"
    assert (kept["position"]["new_line"], kept["position"].get("old_line")) == (1, None)
    await gitlab.review.comment_on_merge_request(123, 1, "Why gone?", path="src/app.py", old_line=1)
    shown = await gitlab.review.list_merge_request_discussions(123, 1)
    note = shown.discussions[-1].notes[0]
    assert (note.file, note.line_number, note.side) == ("src/app.py", 1, "old")
    assert "src/app.py:1 of the old file" in text(shown)


async def test_a_comment_on_a_diff_that_was_pushed_over_stands_where_it_was_read(
    gitlab: Groups, emulator: Emulator
) -> None:
    project = emulator.world.projects[0]
    merge = project.merge_requests[0]
    read = (await gitlab.review.get_merge_request_diff(123, 1)).head_sha
    emulator.world.push(project, merge, [changed("other.py", "other.py", None, "x\n")])
    assert isinstance(read, str)
    await gitlab.review.comment_on_merge_request(123, 1, "Hm", path="src/app.py", line=1, sha=read)
    assert merge["discussions"][-1]["notes"][0]["position"]["head_sha"] == read
    with pytest.raises(Failure, match="not among the changed files"):
        await gitlab.review.comment_on_merge_request(123, 1, "Hm", path="src/app.py", line=1)
    with pytest.raises(Failure, match="not the head of any version"):
        await gitlab.review.comment_on_merge_request(123, 1, "Hm", path="other.py", line=1, sha="0" * 40)


async def test_a_review_is_submitted_as_one(gitlab: Groups, emulator: Emulator) -> None:
    merge = emulator.world.projects[0].merge_requests[0]
    thread = merge["discussions"][0]["id"]
    comments = [
        ReviewComment("One", "src/app.py", line=1),
        ReviewComment("Two", "docs/new.md", line=1),
        ReviewComment("Because", discussion_id=thread),
    ]
    done = await gitlab.review.review_merge_request(123, 1, comments, "All in all fine")
    assert (done.comments, done.other_drafts) == (4, 0)
    assert (merge["drafts"], merge["reviews"]) == ([], 1)
    bodies = [note["body"] for one in merge["discussions"] for note in one["notes"]]
    assert bodies == ["Why not `hello`?", "Because", "One", "Two", "All in all fine"]


async def test_a_review_with_a_bad_comment_leaves_nothing_behind(gitlab: Groups, emulator: Emulator) -> None:
    merge = emulator.world.projects[0].merge_requests[0]
    before = len(merge["discussions"])
    comments = [ReviewComment("One", "src/app.py", line=1), ReviewComment("Lost", discussion_id="0" * 40)]
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.review.review_merge_request(123, 1, comments)
    assert caught.value.data["comment"] == 1
    assert (merge["drafts"], len(merge["discussions"])) == ([], before)


async def test_a_line_that_is_not_in_the_diff_is_named(gitlab: Groups) -> None:
    with pytest.raises(GitLabFailure, match="Invalid params") as caught:
        await gitlab.review.comment_on_merge_request(123, 1, "Here?", path="src/app.py", line=9999)
    assert "line 9999 of src/app.py" in caught.value.text()
    comments = [ReviewComment("One", "src/app.py", line=1), ReviewComment("Two", "src/app.py", old_line=777)]
    with pytest.raises(GitLabFailure) as caught:
        await gitlab.review.review_merge_request(123, 1, comments, body="Both")
    assert "old_line 777 of src/app.py" in caught.value.text()


async def test_who_comments_learns_the_discussion_to_resolve(gitlab: Groups) -> None:
    made = await gitlab.review.comment_on_merge_request(123, 1, "Here", path="src/app.py", line=1)
    assert made.discussion_id is not None
    assert made.discussion_id in made.for_model()
    with pytest.raises(Failure, match="list_merge_request_discussions"):
        await gitlab.review.resolve_discussion(123, 1, "zzz")


async def test_what_the_reviewer_has_not_finished_stays_a_draft(gitlab: Groups, emulator: Emulator) -> None:
    merge = emulator.world.projects[0].merge_requests[0]
    author = emulator.world.tokens[DEVELOPER].user
    mine = {"id": 5, "author": author, "merge_request": 1, "note": "Unsure", "discussion": None, "position": None}
    merge["drafts"].append(mine)
    done = await gitlab.review.review_merge_request(123, 1, [ReviewComment("One", "src/app.py", line=1)])
    assert done.other_drafts == 1
    assert merge["drafts"] == [mine]


async def test_it_stays_a_draft_though_gitlab_does_not_say_what_it_made(
    gitlab: Groups, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge = emulator.world.projects[0].merge_requests[0]
    author = emulator.world.tokens[DEVELOPER].user
    mine = {"id": 5, "author": author, "merge_request": 1, "note": "Unsure", "discussion": None, "position": None}
    merge["drafts"].append(mine)
    connection = gitlab.context.connection
    send = connection.send

    async def send_and_forget(method: Any, path: str, body: dict[str, object]) -> Record:
        said = await send(method, path, body)
        return Record(None) if path.endswith("/draft_notes") else said

    monkeypatch.setattr(connection, "send", send_and_forget)
    done = await gitlab.review.review_merge_request(123, 1, [ReviewComment("One", "src/app.py", line=1)])
    assert (done.comments, done.other_drafts) == (1, 1)
    assert merge["drafts"] == [mine]


async def test_a_discussion_is_answered_and_resolved_in_one_step(gitlab: Groups, emulator: Emulator) -> None:
    thread = emulator.world.projects[0].merge_requests[0]["discussions"][0]
    await gitlab.review.resolve_discussion(123, 1, thread["id"], body="Done")
    assert [note["body"] for note in thread["notes"]][-1] == "Done"
    assert thread["notes"][0]["resolved"]


async def test_what_cannot_be_a_comment_is_refused_before_gitlab_is_asked(gitlab: Groups, emulator: Emulator) -> None:
    review = gitlab.review
    for refused in (
        review.comment_on_merge_request(123, 1, ""),
        review.comment_on_merge_request(123, 1, "x", line=3),
        review.comment_on_merge_request(123, 1, "x", path="a.py"),
        review.comment_on_merge_request(123, 1, "x", path="../a.py", line=1),
        review.comment_on_merge_request(123, 1, "x", "abc", path="a.py", line=1),
        review.review_merge_request(123, 1),
        review.review_merge_request(123, 1, [ReviewComment("x")] * 101),
        review.get_merge_request_diff(123, 1, lines="1-2"),
    ):
        with pytest.raises(Failure):
            await refused
    assert emulator.seen == []
