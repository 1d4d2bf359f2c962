"""What can go wrong with messages, each with what to do next."""

from __future__ import annotations

from postil.core.failure import Conflict, InvalidArguments, NotAllowed, NotFound, StorageFailed


class EmptyComment(InvalidArguments):
    """Nothing was said."""

    def __init__(self) -> None:
        super().__init__("The comment is empty", advice="Say what should change, for example --comment 'Handle errors'")


class CommentTooLong(InvalidArguments):
    """More than a remark."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"The comment has {size} bytes; at most {limit} are taken",
            advice="Shorten it, or put the long text into a file and refer to it",
            size=size,
            limit=limit,
        )


class BadLine(InvalidArguments):
    """A line that is neither a number nor a range."""

    def __init__(self, given: str) -> None:
        super().__init__(f"{given[:40]!r} is not a line", advice="Give a number such as 42, or a range such as 42-45")


class BadTarget(InvalidArguments):
    """Not a place that the menu offers."""

    def __init__(self, given: str) -> None:
        super().__init__(
            f"{given[:80]!r} is no place", advice="Give FILE:LINE, FILE:-LINE for a deleted line, FILE:file, or @COMMIT"
        )


class LineOutOfRange(InvalidArguments):
    """A line that the file does not have."""

    def __init__(self, line: int, count: int) -> None:
        if count:
            said = f"Line {line} does not exist: it must be between 1 and {count}"
        else:
            said = "The file is empty: it has no lines"
        super().__init__(said, advice="Leave the line out to speak of the whole file", line=line, count=count)


class NothingToCommentOn(InvalidArguments):
    """Neither a file nor a commit was named."""

    def __init__(self) -> None:
        super().__init__("Neither a file nor a commit is given", advice="Give --file, or --commit for a whole commit")


class NoSuchCommit(NotFound):
    """git does not know it."""

    def __init__(self, commit: str) -> None:
        super().__init__(
            f"There is no commit {commit[:80]!r} in this repository",
            advice="Name one that is in it, or a branch or tag",
        )


class NoSuchMessage(NotFound):
    """No message of that number in this repository."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"There is no message #{number} in this repository",
            advice="`postil inbox list` shows those that are open",
            id=number,
        )


class MessageDamaged(StorageFailed):
    """Its record cannot be read. It is left as it is."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"The record of message #{number} is damaged",
            advice="Send the message again; `postil doctor` names all that are damaged",
            id=number,
        )


class StaleLease(Conflict):
    """The message was given to someone else in the meantime, or called back."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"Message #{number} is not yours any more: it was queued again or given to another assistant",
            advice="Check for messages again; the current holder may acknowledge it",
            id=number,
        )


class AlreadyRead(Conflict):
    """Too late to change it."""

    def __init__(self, number: int, state: str) -> None:
        super().__init__(
            f"Message #{number} is already {state}: it cannot be changed any more",
            advice="Send a new message, or `postil inbox reopen` this one",
            id=number,
            state=state,
        )


class NotTheirs(NotAllowed):
    """A message that somebody else wrote: what it says bears their name."""

    def __init__(self, number: int, author: str) -> None:
        whose = author or "the person whose machine this is"
        super().__init__(
            f"Message #{number} is by {whose}. Only who wrote it changes it or takes it back",
            advice="Answer it, or resolve it",
            id=number,
        )


class NothingToSubmit(NotFound):
    """There are no drafts."""

    def __init__(self) -> None:
        super().__init__("There are no drafts to submit", advice="Write one with `postil inbox send --draft`")


class NoSuggestion(NotFound):
    """The message has none."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"Message #{number} suggests no other text", advice="`postil inbox show` shows what it says", id=number
        )


class FitsNoMore(Conflict):
    """The lines that a suggestion replaces have changed."""

    def __init__(self, number: int, where: str) -> None:
        super().__init__(
            f"The suggestion of #{number} does not fit any more: its lines are {where}",
            advice="Make the change by hand; nothing was written",
            id=number,
        )


class AppliedAlready(Conflict):
    """What a suggestion wants stands in the file."""

    def __init__(self, number: int) -> None:
        super().__init__(
            f"What #{number} suggests stands in the file already", advice="Nothing is left to do", id=number
        )


class KeptAsDraft(InvalidArguments):
    """What could not be sent, and was kept all the same."""

    def __init__(self, why: str, number: int) -> None:
        super().__init__(
            f"{why}. The remark is kept as draft #{number}",
            advice=f"Send it with `postil inbox submit`, or throw it away with `postil inbox withdraw {number}`",
            id=number,
        )


class StillOpen(Conflict):
    """Nothing to reopen."""

    def __init__(self, number: int, state: str) -> None:
        super().__init__(f"Message #{number} is {state}: it is still open", advice="Wait for the assistant", id=number)


class AlreadyClosed(Conflict):
    """It was resolved before, in another way."""

    def __init__(self, number: int, state: str) -> None:
        super().__init__(
            f"Message #{number} is already {state}", advice="Use `postil inbox reopen` to open it again", id=number
        )
