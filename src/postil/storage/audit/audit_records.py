"""The records of the audit, and how each names the one before it. Holds hashes of arguments, never arguments.

| kind | says |
|---|---|
| `begin` | a process begins to write, behind which record of the whole log |
| `open` | who is about to change what |
| `stored` | an effect in the state was committed, in the same transaction as this record |
| `end` | how that ended |

Every process has a chain of its own, so replicas never wait for each other: each record holds the SHA-256 of the record
before it in that chain, and the chain's head (its last number and hash) is kept beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import Struct

from postil.core.effects.witness import Outcome

SPACE, COUNTER, HEADS = "audit", "audit", "audit-heads"
Kind: TypeAlias = Literal["", "begin", "open", "stored", "end"]
OBJECTS = (
    "id", "ids", "uuid", "number", "iid", "issue_iid", "mr_iid", "merge_request_iid", "issue", "milestone",
    "comment_id", "filePath", "file", "path", "line", "project_id", "project", "key", "name", "branch",
    "ref", "tag", "replica", "commentId", "target", "targetFile", "targetLine", "discussion_id", "pipeline_id",
    "job_id", "source_branch", "target_branch",
)  # fmt: skip
"""Arguments that name what is changed: they are kept as they are, shortened. Texts never are."""
IDS = ("id", "iid", "uuid", "key", "name")
LONGEST_NAME = 200


class Record(Struct, frozen=True, omit_defaults=True):
    """One record. Those of the first release have no kind and no chain."""

    at: float
    kind: Kind = ""
    writer: str = ""
    """The name of the chain: one for each process that writes."""
    n: int = 0
    before: str = ""
    """The SHA-256 of the record before this one in its chain."""
    principal: str = ""
    operation: str = ""
    arguments: str = ""
    """SHA-256 of the arguments in their canonical JSON."""
    object: str = ""
    """What is changed, as the arguments name it."""
    of: int = 0
    """For `stored` and `end`: the number of the opening record."""
    outcome: Outcome = ""
    result: str = ""
    """What the result calls itself; of a failure its kind."""
    process: str = ""
    """For `begin`: the process."""
    after: tuple[str, str] | None = None
    """For `begin`: the last record of the whole log, and its SHA-256."""
    name: str = ""
    """What the principal was called then: an access key that is revoked is in no list any more."""


class Head(Struct, frozen=True):
    """The last record of a chain."""

    n: int
    digest: str


def digest(value: bytes) -> str:
    """Returns the SHA-256 of a record as it is stored."""
    return hashlib.sha256(value).hexdigest()


def decode(value: bytes) -> Record | None:
    """Returns a stored record, or None where it cannot be read."""
    try:
        return msgspec.json.decode(value, type=Record)
    except (ValueError, RecursionError):  # also of bytes that are no UTF-8
        return None


def decode_head(value: bytes) -> Head | None:
    """Returns a stored head, or None where it cannot be read."""
    try:
        return msgspec.json.decode(value, type=Head)
    except (ValueError, RecursionError):
        return None


def digest_arguments(arguments: object) -> str:
    """Returns the SHA-256 of the arguments in their canonical JSON."""
    return digest(msgspec.json.encode(arguments, order="deterministic"))


def name_object(arguments: object) -> str:
    """Returns what the arguments say is changed: `project_id=7 issue_iid=3`."""
    if not isinstance(arguments, Mapping):
        return ""
    given = cast("Mapping[str, Any]", arguments)
    named = [f"{name}={_shorten(given[name])}" for name in OBJECTS if isinstance(given.get(name), str | int)]
    return " ".join(named)[:LONGEST_NAME]


def name_result(result: object) -> str:
    """Returns the id that a result carries, if it carries one."""
    for name in IDS:
        value = getattr(result, name, None)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return _shorten(value)
    return ""


def _shorten(value: str | int) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))[:LONGEST_NAME]
