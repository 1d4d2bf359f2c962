"""What can go wrong on purpose: a failure knows its JSON-RPC code, its exit status and what to do next.

Failure
├── InvalidArguments   INVALID_PARAMS    exit 2   the caller's arguments, with the path of the fault
├── UnknownOperation   METHOD_NOT_FOUND  exit 2   no such operation here
├── NotAllowed         SERVER_ERROR      exit 3   the caller may not do this
├── NotFound           INVALID_PARAMS    exit 5   the thing named does not exist
├── Conflict           SERVER_ERROR      exit 6   someone else was first
├── Unreachable        INTERNAL_ERROR    exit 4   a host or a program could not be reached
├── NeedsExtra         INTERNAL_ERROR    exit 4   a library is not installed: an optional one
├── StorageFailed      INTERNAL_ERROR    exit 7   the disk or the database refused
├── Cancelled          REQUEST_CANCELLED exit 130 the caller gave up
└── InternalError      INTERNAL_ERROR    exit 1   a bug: logged in full, answered in general words

A part subclasses one of these for its own codes. Anything else that is raised is a bug, and surfaces treat it as one.
"""

from __future__ import annotations

from postil.core import codes

LONGEST = 2_000
"""The characters of a failure's sentence."""


class Failure(Exception):
    """An expected failure: a sentence for people, a code for programs, and advice."""

    code: int = codes.INTERNAL_ERROR
    exit_status: int = 1
    wants: str = ""
    """What only the person can give, and not through the client: a surface that has a page for it says where."""
    doubtful: bool = False
    """Whether the effect may have happened all the same: a repeat under the same key must not try it again."""
    in_state: bool = False
    """Whether the doubt is about one transaction of the state, which the mark of a key can settle."""

    def __init__(self, message: str, /, *, advice: str = "", **data: object) -> None:
        for fact in data.values():
            if type(fact) is str and not fact.isprintable() and fact.strip():
                message, advice = _put_on_one_line(fact, message, advice)
        if len(message) > LONGEST:  # what a caller sent is repeated to it, not all of it
            message = f"{message[:LONGEST]}… ({len(message) - LONGEST} more characters)"
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.data: dict[str, object] = data

    @classmethod
    def of_bug(cls, bug: Exception) -> Failure:
        """Returns how a bug is answered: in general words, where no contract wants more."""
        return cls("Internal error")

    @property
    def name(self) -> str:
        """The failure's kind, in one word that does not change."""
        return type(self).__name__

    def details(self) -> dict[str, object]:
        """Returns what goes into the error object's `data`: the facts, then the advice as `suggestion`."""
        return {**self.data, "suggestion": self.advice} if self.advice else dict(self.data)

    def text(self) -> str:
        """Returns what a person or a model reads."""
        return f"{self.message}\n{self.advice}" if self.advice else self.message

    def reply(self) -> str:
        """Returns the content of a failed tool call: the same text, where no contract wants another."""
        return self.text()


def _put_on_one_line(fact: str, *sentences: str) -> list[str]:
    """Returns sentences that name something: what of its name comes behind an end of line is no sentence of ours."""
    from postil.core.others.one_line import on_one_line  # most names are plain

    return [sentence.replace(fact, on_one_line(fact)) for sentence in sentences]


class InvalidArguments(Failure):
    """The caller's arguments do not fit; `path` says where."""

    code = codes.INVALID_PARAMS
    exit_status = 2


class UnknownOperation(Failure):
    """No operation of that name is offered here."""

    code = codes.METHOD_NOT_FOUND
    exit_status = 2


class NotAllowed(Failure):
    """The caller may not do this."""

    code = codes.SERVER_ERROR
    exit_status = 3


class NotFound(Failure):
    """The thing named does not exist."""

    code = codes.INVALID_PARAMS
    exit_status = 5


class Conflict(Failure):
    """Someone else was first, or the same key was used for something else."""

    code = codes.SERVER_ERROR
    exit_status = 6


class Unreachable(Failure):
    """A host or a program could not be reached."""

    exit_status = 4


def describe_install(extra: str = "") -> str:
    """Returns how Postil is installed, or what an extra brings: never by a name that anybody may have registered."""
    command = f"pip install '.[{extra}]'" if extra else "`pipx install .`"
    return f"{command} in a checkout of Postil"


class NeedsExtra(Failure):
    """What was asked for needs a library that the plain install leaves out."""

    exit_status = 4

    def __init__(self, what: str, extra: str) -> None:
        advice = f"Install it with: {describe_install(extra)}"
        super().__init__(f"{what} needs the extra '{extra}'", advice=advice, extra=extra)


class Extra:
    """A block of imports of an extra's libraries: where they are missing, it raises NeedsExtra."""

    def __init__(self, name: str, what: str) -> None:
        self._name, self._what = name, what

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, ImportError):
            raise NeedsExtra(self._what, self._name) from None


class StorageFailed(Failure):
    """The disk or the database refused: full, read-only or damaged."""

    exit_status = 7


class Cancelled(Failure):
    """The caller gave up before the work was done."""

    code = codes.REQUEST_CANCELLED
    exit_status = 130


class InternalError(Failure):
    """A bug. What was really raised is logged; the caller gets general words."""
