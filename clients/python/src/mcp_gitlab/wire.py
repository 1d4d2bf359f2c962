"""Requests and answers as bytes: pure, shared by the synchronous and the asynchronous client."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from mcp_gitlab.errors import McpGitlabError, from_object
from mcp_gitlab.operations import READS, Operations
from mcp_gitlab.results import Result

RETRY_DELAYS = (1.0, 2.0, 4.0)
"""Seconds before the three retries of a call that was over a limit, where the server did not say how long."""
LONGEST_WAIT = 60.0
"""Seconds that are waited at most: a server that asks for more is not waited for."""
LARGEST_ANSWER = 64 * 1024 * 1024
Envelope: TypeAlias = dict[str, Any]


class Call(NamedTuple):
    """One call of a batch."""

    method: str
    params: dict[str, Any]


class Calls(Operations[Call]):
    """Every operation as a call that is not sent: `client.batch([calls.list_projects(), …])` sends them."""

    def call(self, method: str, params: dict[str, Any]) -> Call:
        """Return a call of any method."""
        return Call(method, params)


calls = Calls()


class Answer(NamedTuple):
    """One HTTP answer."""

    status: int
    body: bytes
    retry_after: str | None


class Sent(NamedTuple):
    """A request or a batch as it is sent."""

    body: bytes
    only_reads: bool


class Pending:
    """One request on its way: what to send next, until its answer stands."""

    def __init__(self, call: Call, number: int) -> None:
        self._call, self._number = call, number
        self._attempt = 0
        self.envelope: Envelope = {}

    def send(self) -> Sent:
        """Return what is to be sent."""
        return Sent(_encode(_request(self._call, self._number)), self._call.method in READS)

    def take(self, answer: Answer) -> float | None:
        """Take an answer. Returns the seconds after which to send again, or None when it stands."""
        envelope = _decode(answer)
        if not isinstance(envelope, dict):
            raise _unreadable(answer)
        self.envelope = cast("Envelope", envelope)
        wait = find_wait(self._attempt, [self.envelope], answer)
        self._attempt += 1
        return wait


class PendingBatch:
    """A batch on its way. Only the calls that were over a limit are sent again."""

    def __init__(self, asked: Iterable[Call | tuple[str, Mapping[str, Any]]], first: int) -> None:
        self._open = {number: Call(call[0], dict(call[1])) for number, call in enumerate(asked, first)}
        self._order = list(self._open)
        self._answers: dict[int, Result | McpGitlabError] = {}
        self._attempt = 0

    def __len__(self) -> int:
        return len(self._order)

    def send(self) -> Sent:
        """Return what is to be sent."""
        only_reads = all(call.method in READS for call in self._open.values())
        return Sent(_encode([_request(call, number) for number, call in self._open.items()]), only_reads)

    def take(self, answer: Answer) -> float | None:
        """Take an answer. Returns the seconds after which to send the rest again, or None when all stand."""
        decoded = _decode(answer)
        whole = [cast("Envelope", decoded)] if isinstance(decoded, dict) else []
        listed = cast("list[object]", decoded) if isinstance(decoded, list) else []
        items = whole or [cast("Envelope", item) for item in listed if isinstance(item, dict)]
        wait = find_wait(self._attempt, items, answer)
        self._attempt += 1
        if whole:  # one error for all of them: the batch itself was refused
            if wait is None:
                raise from_object(whole[0].get("error"))
            return wait
        for item in items:
            number = item.get("id")
            if isinstance(number, int) and number in self._open and (wait is None or not _is_limited(item)):
                del self._open[number]
                self._answers[number] = _result_or_error(item)
        if wait is not None and self._open:
            return wait
        return None

    def answers(self) -> list[Result | McpGitlabError]:
        """Return the answers in the order of the calls; an error stands in the place of its call."""
        missing = McpGitlabError(-32603, "The server did not answer this call of the batch", {"outcome": "unknown"})
        return [self._answers.get(number, missing) for number in self._order]


def open_envelope(envelope: Envelope) -> Result:
    """Return the result inside an envelope, or raise its error."""
    outcome = _result_or_error(envelope)
    if isinstance(outcome, McpGitlabError):
        raise outcome
    return outcome


def find_wait(attempt: int, envelopes: Sequence[Envelope], answer: Answer) -> float | None:
    """Return how long to wait before trying again (the first try is 0), or None when this answer stands.

    Tried again is what was over a limit, and what an HTTP 503 with `Retry-After` refused: nothing of it was begun.
    """
    limited = [from_object(one.get("error")) for one in envelopes if _is_limited(one)]
    refused = answer.status == 503 and answer.retry_after is not None
    if attempt >= len(RETRY_DELAYS) or not (limited or refused):
        return None
    stated = [error.retry_after for error in limited if error.retry_after is not None]
    if not stated and answer.retry_after is not None and answer.retry_after.isdecimal():
        stated = [float(answer.retry_after[:9])]
    wait = max(stated, default=RETRY_DELAYS[attempt])
    return wait if wait <= LONGEST_WAIT else None


def _is_limited(envelope: Envelope) -> bool:
    return envelope.get("error") is not None and from_object(envelope["error"]).is_rate_limited


def _result_or_error(envelope: Envelope) -> Result | McpGitlabError:
    if "error" in envelope:
        return from_object(envelope["error"])
    result: object = envelope.get("result")
    return Result(cast("dict[str, Any]", result)) if isinstance(result, dict) else Result(value=result)


def _request(call: Call, number: int) -> Envelope:
    """Return one request. Parameters that are None are left out."""
    given = {name: value for name, value in call.params.items() if value is not None}
    return {"jsonrpc": "2.0", "method": call.method, "params": given, "id": number}


def _encode(message: object) -> bytes:
    return json.dumps(message, allow_nan=False).encode()


def _decode(answer: Answer) -> object:
    """Return the envelope or the envelopes, whatever the status: refusals are JSON-RPC errors too."""
    try:
        decoded: object = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise _unreadable(answer) from None
    if isinstance(decoded, dict) and not {"result", "error"} & set(cast("Envelope", decoded)):
        raise _unreadable(answer)
    if not isinstance(decoded, dict | list):
        raise _unreadable(answer)
    return cast("object", decoded)


def _unreadable(answer: Answer) -> McpGitlabError:
    words = f"The server answered status {answer.status} and no JSON-RPC object: check the endpoint"
    return McpGitlabError(-32603, words, {"status": answer.status})
