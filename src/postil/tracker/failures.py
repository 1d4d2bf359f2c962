"""What can go wrong in the tracker, in the contract's codes.

TrackerFailure
├── InvalidRequest   -32600  exit 2   arguments that cannot be decoded
├── InvalidParams    -32602  exit 2   a filter, sort, cursor, status or value that is not valid
│   ├── NoSuchEntity         exit 5   no entity has this id
│   ├── AmbiguousId          exit 2   several ids begin so
│   ├── DependencyCycle      exit 2   the link would close a circle
│   └── ClaimLost            exit 6   someone else holds it
└── ServerError      -32001  exit 1   an internal failure, in one line
    └── TooManyLogs          exit 7   a clone names more logs than a tracker has writers

Where a failure is sent as a JSON-RPC error, its data also holds the tool content of the contract.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from postil.core import call, limits
from postil.core.codes import INVALID_PARAMS, INVALID_REQUEST, TRACKER_FAILED
from postil.core.failure import Conflict, Failure, InvalidArguments, NotFound
from postil.workspace.failures import READ_FIRST

_NAMES = {INVALID_REQUEST: "InvalidRequest", INVALID_PARAMS: "InvalidParams", TRACKER_FAILED: "ServerError"}


class TrackerFailure(Failure):
    """A failure that also speaks as the contract's tools do."""

    def reply(self) -> str:
        """The JSON that the contract puts into the content of a failed call."""
        message = f"{self.message} ({self.advice})" if self.advice else self.message
        return msgspec.json.encode({"error": {"code": _NAMES[self.code], "message": message}}).decode()

    def details(self) -> dict[str, object]:
        """The facts, and the content the contract asks for."""
        return {**super().details(), "isError": True, "content": [{"type": "text", "text": self.reply()}]}


class InvalidRequest(TrackerFailure):
    """Arguments that cannot be decoded."""

    code = INVALID_REQUEST
    exit_status = 2


class InvalidParams(TrackerFailure, InvalidArguments):
    """A decoded value that is not valid."""


class ServerError(TrackerFailure):
    """An internal failure."""

    code = TRACKER_FAILED

    @classmethod
    def of_bug(cls, bug: Exception) -> Failure:
        """The contract's message holds a summary for whoever debugs it, in one line."""
        said = " ".join(str(bug).split())[:200]
        return cls(f"Internal error: {type(bug).__name__}{f': {said}' if said else ''}")


class TooManyLogs(ServerError):
    """A file of packed refs that names more logs than a tracker has writers."""

    exit_status = 7

    def __init__(self, path: str, size: int) -> None:
        super().__init__(
            f"packed-refs ({size} bytes) names more than {limits.LOGS} logs of issues, or is too large to look through",
            advice="Look at them with `git for-each-ref --count=10 refs/postil`, and delete what is not yours "
            f"(`git update-ref -d REF`), or clone again without refs/postil; {READ_FIRST}",
        )
        self.data = {**self.data, "bytes": size} | ({"path": path} if call.current().reveals_paths else {})


class NoSuchEntity(NotFound, InvalidParams):
    """No issue or milestone has this id."""

    def __init__(self, what: str, id_: str, advice: str = "") -> None:
        super().__init__(f"{what} not found: {id_[:64]}", advice=advice or "List them to see the ids", id=id_[:64])


class AmbiguousId(InvalidParams):
    """Several ids begin with what was given."""

    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        super().__init__(
            f"{len(candidates)} entities begin with `{prefix}`: {', '.join(candidates)}",
            advice="Give more of the id",
            candidates=list(candidates),
        )


class DependencyCycle(InvalidParams):
    """A link that would make something wait for itself."""

    def __init__(self, path: Sequence[str]) -> None:
        super().__init__(
            f"The link would close a circle: {' → '.join(path)}",
            advice="Remove one of the links of that path first",
            path=list(path),
        )


class ClaimLost(Conflict, InvalidParams):
    """Someone else works on it."""

    code = InvalidParams.code

    def __init__(self, id_: str, who: str, until: str, same: bool = False, ending: bool = False) -> None:
        advice = "Take another issue (ready lists them), or wait until the claim ends"
        if same:
            advice = "Another session of yours has it: release it first, or take another issue (ready lists them)"
        if ending:
            advice = "Say why the claim of another is ended: --reason TEXT"
        super().__init__(
            f"{id_[:8]} is claimed by {who} until {until}",
            advice=advice,
            who=who,
            until=until,
        )
