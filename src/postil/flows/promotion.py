"""A remark becomes a comment, a comment an issue, an issue a GitLab issue: each step keeps the way back.

Flows call the parts' public operations by name and own no data, so what is hidden or read-only stays so. The step is
noted where it started (a reply, a comment), and a second try finds that note instead of making a second thing.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from msgspec import Meta

from postil.comments.index.fit import count_left_out
from postil.comments.model import LONGEST_TEXT
from postil.comments.operations.answers import CommentNow
from postil.comments.operations.by_id import Shown as ShownComment
from postil.comments.operations.written import Added
from postil.core.answer import Answer
from postil.core.failure import Conflict, InvalidArguments, NotFound
from postil.core.operation import EVERYTHING, Operation, writes
from postil.gitlab.operations.answers import Created
from postil.inbox.answers import Shown as ShownMessage
from postil.inbox.operations.printed import Printed
from postil.tracker.operations.answers import Shown as ShownIssue
from postil.tracker.operations.write_answers import Created as CreatedIssue
from postil.tracker.shell.tables import ShownInFull

KEPT = "Kept as comment "
TRACKED = "Tracked as issue "
OPENED = "Opened at GitLab as "
TAGS = {"fix": "TODO", "question": "QUESTION", "note": "NOTE"}
LONGEST_TITLE = 120


class Promoted(Answer, frozen=True, omit_defaults=True):
    """What became of it."""

    source: str
    target: str
    where: str
    warning: str = ""

    def for_model(self) -> str:
        warning = f"\n⚠️ {self.warning}" if self.warning else ""
        return f"{self.source} is now {self.target} ({self.where}){warning}"


class AlreadyPromoted(Conflict):
    """The step was taken before; nothing was made a second time."""


class TooLong(InvalidArguments):
    """What it would become cannot hold its words."""


class PromotionFlows:
    """The steps between the parts."""

    def __init__(self, operation: Callable[[str], Operation]) -> None:
        self._operation = operation

    @writes("comment_from_message", thing=EVERYTHING, shell="inbox comment", positional=("id",))
    def comment_from_message(self, id: Annotated[int, Meta(ge=1, description="the message's number")]) -> Promoted:
        """Keep a message as a comment anchored to its code"""
        message: ShownMessage | Printed = self._run("inbox_show", id=id)
        if isinstance(message, Printed):  # an assistant gets a long one in pieces
            raise TooLong(
                f"Message #{id} is too long for this call; a comment has at most {LONGEST_TEXT} characters",
                advice="Say the essence with add_comment; or a person runs `postil inbox comment`",
            )
        _refuse_repeat(f"Message #{id}", KEPT, (reply.text for reply in message.replies))
        line = message.anchor.line if message.anchor is not None else message.line
        if not message.file or not line:
            raise NotFound(
                f"The code that message #{id} is about is gone, or it names no line",
                advice="Add the comment yourself where it belongs: postil comments add FILE LINE TEXT",
                id=id,
            )
        first = int(line.partition("-")[0])
        if len(message.comment) > LONGEST_TEXT:
            raise TooLong(
                f"Message #{id} has {len(message.comment)} characters, a comment has at most {LONGEST_TEXT}",
                advice=f"Say the essence: postil comments add {message.file} {first} TEXT",
            )
        tag = TAGS[message.kind]
        added: Added = self._run(
            "add_comment", filePath=message.file, line=first, text=message.comment, tag=tag, author="user"
        )
        self._run("inbox_reply", id=id, text=f"{KEPT}{added.commentId}")
        return Promoted(f"Message #{id}", f"comment {added.commentId}", f"{message.file}:{first}")

    @writes("issue_from_comment", thing=EVERYTHING, shell="comments issue", positional=("commentId",))
    def issue_from_comment(self, commentId: str) -> Promoted:
        """Make an issue of a comment, with its code and place"""
        shown: ShownComment = self._run("comments_show", commentId=commentId)
        comment = shown.comment
        _refuse_repeat(f"Comment {commentId}", TRACKED, (reply.text for reply in comment.replies))
        labels = (comment.tag.lower(),) if comment.tag else ()
        created: CreatedIssue = self._run(
            "git_mile_create", title=_make_title(comment.text), description=describe_for_issue(comment), labels=labels
        )
        self._run("comments_reply", commentId=commentId, text=f"{TRACKED}{created.id}")
        left_out = count_left_out(comment.text)
        said = (
            f"The last {left_out:,} characters of the comment are not in the issue: {comment.filePath}.comments has all"
        )
        return Promoted(f"Comment {commentId}", f"issue {created.id[:8]}", created.title, said if left_out else "")

    @writes(
        "gitlab_issue_from_issue",
        thing=EVERYTHING,
        shell="issue gitlab",
        positional=("id", "project_id"),
        toolset="gitlab",
        open_world=True,
    )
    async def gitlab_issue_from_issue(
        self,
        id: Annotated[str, Meta(description="the issue's id or its beginning")],
        project_id: Annotated[int | str, Meta(description="GitLab project; default: the remote's")] | None = None,
    ) -> Promoted:
        """Open a GitLab issue for an issue kept in git"""
        issue = await asyncio.to_thread(self._read_issue, id)
        _refuse_repeat(f"Issue {issue.id[:8]}", OPENED, (comment.body for comment in issue.comments))
        labels = list(issue.labels) or None
        opened: Created = await self._operation("create_issue").run(
            project_id=project_id, title=issue.title, description=issue.description, labels=labels
        )
        address = opened.web_url or f"#{opened.iid} of {project_id or 'the project'}"
        await asyncio.to_thread(self._run, "git_mile_comment", id=issue.id, body=f"{OPENED}{address}")
        if opened.web_url:  # so that it answers to its address, and an import of it finds it
            update = self._operation("git_mile_update")
            await asyncio.to_thread(update.run, id=issue.id, external_ref=opened.web_url)
        return Promoted(f"Issue {issue.id[:8]}", f"GitLab issue #{opened.iid}", address)

    def _read_issue(self, id: str) -> ShownIssue:
        """Returns an issue with its whole description and every comment, which an answer to an assistant may cut."""
        found: ShownIssue = self._run("git_mile_show", entity="issue", id=id, limit_comments=0)
        whole: ShownInFull = self._operation("git_mile_show").run(id=found.id, in_full=True, limit_comments=sys.maxsize)
        return whole.shown

    def _run(self, name: str, /, **arguments: object) -> Any:
        """Run another part's operation as if it had been called; what is not offered is unknown here too."""
        operation = self._operation(name)
        return operation.run(**operation.decode(arguments))


def _refuse_repeat(what: str, note: str, written: Iterable[str]) -> None:
    for text in written:
        if text.startswith(note):
            raise AlreadyPromoted(f"{what}: {text[0].lower()}{text[1:]} already", advice="Go on from there")


def _make_title(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    plain = re.sub(r"^(TODO|FIXME|NOTE|STAR|QUESTION):\s*", "", first)
    return plain if len(plain) <= LONGEST_TITLE else f"{plain[: LONGEST_TITLE - 1]}…"


def describe_for_issue(comment: CommentNow) -> str:
    """Returns what an issue says that a comment becomes: its words, where they stand, and whose they are."""
    place = f"`{comment.path}:{comment.line}`"
    held = f", {comment.anchor}" if comment.anchor else ""
    code = comment.newText or comment.oldText
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", code)), 3)
    block = f"\n\n{fence}\n{code.rstrip()}\n{fence}" if code.strip() else ""
    return f"{comment.text}\n\n{place}{held} ({comment.state}), by {comment.signed}, comment {comment.id}{block}"
