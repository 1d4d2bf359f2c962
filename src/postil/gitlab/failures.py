"""What GitLab refuses, in the contract's error format: a code, a status and GitLab's own sentence, made flat.

GitLabFailure          the code of the status: 400 -32602, 5xx -32603, every other refusal -32000
├── UnknownOutcome     -32603  a write was sent and no readable verdict came back
├── GitLabUnreachable  -32603  no connection, so nothing was sent
├── AnswerTooLarge     -32603  GitLab's answer has more bytes than are held
└── NotOffered         -32000  refused here: read-only, or a project outside the allow-list

Leaves retrying to `instance/retries.py` and errors of the transport to `instance/client.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import cast

from postil.core.codes import GITLAB_ERROR, INTERNAL_ERROR, INVALID_PARAMS
from postil.core.failure import Failure, InvalidArguments
from postil.gitlab.instance.records import Record, parse
from postil.gitlab.instance.redaction import redact
from postil.gitlab.instance.retries import read_retry_after

LONGEST_MESSAGE = 500
MESSAGES = {INVALID_PARAMS: "Invalid params", INTERNAL_ERROR: "Internal error", GITLAB_ERROR: "GitLab API Error"}
EXIT_STATUSES = {400: 2, 401: 3, 403: 3, 404: 5, 409: 6}
ADVICE = {
    401: "GitLab did not accept the token: it is wrong, expired or revoked.",
    403: "The token's user may not do this in this project.",
    404: "Check the id or path; a private project also answers so to who may not see it.",
    429: "Wait a minute, then try again.",
}
_LEADING_STATUS = re.compile(r"^\d{3}\s+(?:-\s+)?")


class GitLabFailure(Failure):
    """GitLab answered with an error; `data` holds its status and its message."""

    code = GITLAB_ERROR

    def __init__(self, status: int, said: str, /, *, advice: str = "", **data: object) -> None:
        code = INVALID_PARAMS if status == 400 else INTERNAL_ERROR if status >= 500 else GITLAB_ERROR
        super().__init__(MESSAGES[code], advice=advice, status=status, message=said, **data)
        self.code = code
        self.status = status
        self.wants = "gitlab" if status == 401 else ""
        self.exit_status = EXIT_STATUSES.get(status, 4 if status >= 500 else 1)

    def text(self) -> str:
        """What a person or a model reads: GitLab's sentence, then what to do."""
        # The wire's word for a 5xx is "Internal error": a person would look for the fault here, and it is not here.
        title = "GitLab failed" if self.status >= 500 else self.message
        first = f"{title}: {self.data['message']} (status {self.status})"
        return f"{first}\n{self.advice}" if self.advice else first


class UnknownOutcome(GitLabFailure):
    """A write was sent, and whether GitLab did it is not known."""

    code = INTERNAL_ERROR
    exit_status = 4
    doubtful = True

    def __init__(self, status: int, said: str, /) -> None:
        sentence = f"{said[:1].upper()}{said[1:]}: unknown outcome"
        super().__init__(
            status, sentence, advice="The write may have happened. Look before you try again.", outcome="unknown"
        )


class GitLabUnreachable(GitLabFailure):
    """No connection to GitLab could be made; nothing was sent."""

    code = INTERNAL_ERROR
    exit_status = 4

    def __init__(self, url: str, reason: str, /, proxy: str = "") -> None:
        through = f" through the proxy {_hide_password(proxy)}" if proxy else ""
        said = f"GitLab cannot be reached at {_hide_password(url)}{through}: {reason}"
        named = "GITLAB_URL, the proxy (GITLAB_PROXY, HTTPS_PROXY)" if proxy else "GITLAB_URL"
        advice = f"Check {named} and the network, then try again."
        if not url.lower().startswith(("https://", "http://")):
            advice = "GITLAB_URL must be an address such as https://gitlab.example.com."
        elif "CERTIFICATE_VERIFY_FAILED" in reason:
            advice = "If an authority of your own made GitLab's certificate, name its file (PEM) as GITLAB_CA_FILE."
        super().__init__(503, said, advice=advice)

    def text(self) -> str:
        """What a person or a model reads: what happened, and what to look at."""
        return f"{self.data['message']}\n{self.advice}"


class AnswerTooLarge(GitLabFailure):
    """GitLab's answer has more bytes than are held at once."""

    code = INTERNAL_ERROR
    exit_status = 4

    def __init__(self, most: int, /) -> None:
        super().__init__(502, f"GitLab's answer is larger than {most // 1024 // 1024} MiB", advice="Ask for less.")


class NotOffered(Failure):
    """Refused here, before GitLab was asked."""

    code = GITLAB_ERROR
    exit_status = 3

    def __init__(self, said: str, /, *, advice: str = "") -> None:
        super().__init__(MESSAGES[GITLAB_ERROR], advice=advice, status=403, message=said)

    def text(self) -> str:
        """What a person or a model reads."""
        first = f"Not offered here: {self.data['message']}"
        return f"{first}\n{self.advice}" if self.advice else first


def _hide_password(url: str) -> str:
    """Return an address as it may be shown: a password in it is nobody's to read."""
    scheme, mark, rest = url.partition("://")
    return scheme + mark + rest.rpartition("@")[2]


def invalid(path: str, said: str) -> InvalidArguments:
    """Return the failure for an argument that must not become part of a URL or of a request."""
    return InvalidArguments(f"Invalid params: {path} {said}", path=path, status=400, message=f"{path} {said}")


def read_refusal(status: int, body: bytes, headers: Mapping[str, str], token: str) -> GitLabFailure:
    """Return the failure for an error answer of GitLab."""
    said = redact(flatten(status, body), token)
    retry_after = read_retry_after(headers)
    data: dict[str, object] = {}
    if headers.get("x-request-id"):
        data["request_id"] = headers["x-request-id"][:100]
    if retry_after is not None and status in (429, 503):
        data["retry_after"] = max(0, round(retry_after))
    scopes = _list_scopes(body)
    if scopes:
        data["required_scopes"] = scopes
    return GitLabFailure(status, said, advice=_advise(status, retry_after, scopes), **data)


def flatten(status: int, body: bytes) -> str:
    """Return GitLab's message as one sentence, from any of its forms: string, list, object, OAuth, text or HTML."""
    text = body[:LONGEST_MESSAGE].decode("utf-8", "replace").strip()
    said = parse(body, otherwise="" if "<" in text else text)
    sentence = _join(said) or _name_status(status)
    bare = _LEADING_STATUS.sub("", sentence)
    if bare != sentence:  # "404 Project Not Found" is a title, and reads better as a sentence
        bare = bare.lower()
    bare = " ".join(bare.split())
    return (bare[:1].upper() + bare[1:])[:LONGEST_MESSAGE]


def _join(said: object, name: str = "") -> str:
    if isinstance(said, str):
        return f"{name} {said}" if name else said
    if isinstance(said, list):
        return "; ".join(filter(None, (_join(item, name) for item in cast(list[object], said))))
    if not isinstance(said, dict):
        return "" if said is None else str(said)
    record = cast(dict[str, object], said)
    for key in ("error_description", "message", "error"):
        if key in record and (sentence := _join(record[key])):
            return sentence
    parts = (_join(value, "" if key == "base" else key) for key, value in record.items())
    return "; ".join(filter(None, parts))


def _name_status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"Status {status}"


def _list_scopes(body: bytes) -> list[str]:
    if b"insufficient_scope" not in body:
        return []
    said = parse(body)
    scope = Record(said).text("scope")
    return [] if said is None else ["api"] if scope is None else scope.split()


def _advise(status: int, retry_after: float | None, scopes: list[str]) -> str:
    if scopes:
        return f"The token lacks a scope: give it one of {', '.join(scopes)}."
    if status == 429 and retry_after:
        return f"Wait {round(retry_after)} s."
    return ADVICE.get(status, "")
