"""`POST /webhooks/gitlab`: verified, kept durably, answered, and only then worked on.

Order: size, then token or signature, then JSON. GitLab waits ten seconds and gives up on hooks that fail, so nothing
but the durable write happens before the answer. Without a secret in the settings the path does not exist.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Raw

from postil.core import codes, limits
from postil.core.failure import Failure
from postil.core.others.number import decode_json
from postil.core.others.unreadable import UNREADABLE
from postil.core.ports import Deliveries, Delivery, EphemeralStore
from postil.surfaces.gateway.addresses import Addresses
from postil.surfaces.gateway.refused import Refused, Unavailable
from postil.wire.protocol import jsonrpc
from postil.wire.transports.http.asked import Receive, Scope, Send, respond
from postil.wire.transports.http.body import Budget, TooLarge, TooMany, read_body
from postil.wire.transports.http.headers import Headers

PATH = "/webhooks/gitlab"
LARGEST = limits.WEBHOOK
SKEW = 300.0
PER_MINUTE = 1200
SIGNING = b"whsec_"
LONGEST_NAME = 200
EVENTS = {
    "Push Hook": "push",
    "Tag Push Hook": "push",
    "Issue Hook": "issues",
    "Confidential Issue Hook": "issues",
    "Merge Request Hook": "merge_requests",
    "Pipeline Hook": "pipelines",
    "Wiki Page Hook": "wiki",
    "Note Hook": "notes",
    "Confidential Note Hook": "notes",
}
"""GitLab's names of the contract's events; others are kept under GitLab's own name."""


class Verifier:
    """Whether a delivery is GitLab's. A secret `whsec_…` signs; any other one is sent along as `X-Gitlab-Token`."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._signing = [_decoded(key) for key in keys if key.startswith(SIGNING)]
        self._tokens = [key for key in keys if not key.startswith(SIGNING)]

    def check(self, headers: Headers, body: bytes) -> None:
        """Refuse what does not pass. Where both kinds of secret are set, both must."""
        self.check_token(headers)
        self.check_signature(headers, body)

    def check_token(self, headers: Headers) -> None:
        """Refuse a delivery whose head does not hold one of our tokens, if we have any."""
        if self._tokens:
            given = headers.get(b"x-gitlab-token", b"").strip(b" \t")
            matches = [hmac.compare_digest(given, token) for token in self._tokens]
            if not any(matches):
                raise Refused(401, "Unauthorized: X-Gitlab-Token is missing or wrong")

    def check_signature(self, headers: Headers, body: bytes) -> None:
        """Refuse a body that is not signed with one of our keys, if we have any."""
        if not self._signing:
            return
        name = headers.get(b"webhook-id", b"").strip(b" \t")
        stamp = headers.get(b"webhook-timestamp", b"").strip(b" \t")
        if not name or not stamp.isdigit() or len(stamp) > 12 or abs(int(stamp) - time.time()) > SKEW:
            raise Refused(401, "Unauthorized: webhook-id or webhook-timestamp is missing, or not of the last minutes")
        payload = b".".join((name, stamp, body))
        given = [
            one.removeprefix(b"v1,") for one in headers.get(b"webhook-signature", b"").split() if one[:3] == b"v1,"
        ]
        expected = [base64.b64encode(hmac.digest(key, payload, "sha256")) for key in self._signing]
        matches = [hmac.compare_digest(one, right) for one in given[:8] for right in expected]
        if not any(matches):
            raise Refused(401, "Unauthorized: webhook-signature does not fit this body")


def _decoded(key: bytes) -> bytes:
    try:
        return base64.b64decode(key.removeprefix(SIGNING), validate=True)
    except binascii.Error:
        raise BadWebhookKey("A webhook secret begins with whsec_ but is not base64 after it") from None


class BadWebhookKey(Failure):
    """A secret that cannot be one."""

    code = codes.INVALID_PARAMS
    exit_status = 2


class WebhookReceiver:
    """The route."""

    def __init__(
        self,
        verifier: Verifier,
        deliveries: Callable[[], Deliveries],
        ephemeral: EphemeralStore,
        addresses: Addresses | None = None,
    ) -> None:
        self._verifier, self._deliveries, self._ephemeral = verifier, deliveries, ephemeral
        self._addresses = addresses or Addresses([], [], [])
        self._bodies = Budget(limits.WEBHOOKS, limits.WEBHOOKS_OF_ONE)
        self.kept = 0
        self.repeated = 0

    async def __call__(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        """Take one delivery."""
        if scope["method"] != "POST":
            raise Refused(405, "Method Not Allowed", codes.INVALID_REQUEST, [(b"allow", b"POST")])
        address = self._addresses.check(scope.get("client"), headers)
        try:
            self._verifier.check_token(headers)  # before a byte of the body is held
            with self._bodies.hold(address, headers, LARGEST):
                body = await read_body(receive, headers, LARGEST)
                self._verifier.check_signature(headers, body)
        except TooLarge as large:
            refused = Refused(413, f"A delivery has at most {LARGEST >> 20} MiB", codes.INVALID_REQUEST)
            refused.begun = large.begun
            raise refused from None
        except TooMany:
            raise Unavailable("Too many deliveries at once: send it again", 5) from None
        except Refused:
            # Only what fails is counted, by its address: nothing a sender writes can silence another's hooks.
            taken = await self._ephemeral.take(f"hook:{address}", 1, PER_MINUTE, 60.0)
            if not taken.granted:
                raise Refused(429, "Too Many Requests", headers=[(b"retry-after", b"60")]) from None
            raise
        delivery = read_delivery(headers, body)
        try:
            is_new = await asyncio.to_thread(self._deliveries().keep, delivery)
        except Failure:
            raise Unavailable("The event could not be kept: send it again", 5) from None
        self.kept += is_new
        self.repeated += not is_new
        await respond(send, 200, b'{"stored":true}' if is_new else b'{"stored":false}')
        if is_new:
            self._deliveries().heard(delivery)

    def counts(self) -> dict[str, float]:
        """For the metrics."""
        return {"postil_webhooks_kept_total": self.kept, "postil_webhooks_repeated_total": self.repeated}


def read_delivery(headers: Headers, body: bytes) -> Delivery:
    """Returns the event in a verified body."""
    excess = jsonrpc.find_excess(body)
    if excess:  # what is read later is read by code that goes down level by level
        raise Refused(400, f"Bad Request: {excess}", codes.INVALID_REQUEST)
    try:
        body.decode("utf-8")
        said: object = decode_json(body)
    except UNREADABLE:
        raise Refused(400, "Bad Request: the body is not JSON", codes.PARSE_ERROR) from None
    if not isinstance(said, dict):
        raise Refused(400, "Bad Request: an event is one JSON object", codes.INVALID_REQUEST)
    named = headers.get(b"x-gitlab-event", b"").strip(b" \t").decode("latin-1")[:100]
    project_id, project = _project(cast("dict[str, Any]", said))
    sent = headers.get(b"webhook-id") or headers.get(b"idempotency-key") or headers.get(b"x-gitlab-event-uuid") or b""
    name = sent.strip(b" \t").decode("latin-1") or secrets.token_hex(16)
    if len(name) > LONGEST_NAME:  # the beginning alone may be another delivery's
        name = hashlib.sha256(name.encode()).hexdigest()
    return Delivery(name, EVENTS.get(named, named or "unknown"), project_id, project, time.time(), Raw(body))


def _project(said: Mapping[str, Any]) -> tuple[int | None, str]:
    project = said.get("project")
    described = cast("dict[str, Any]", project) if isinstance(project, dict) else {}
    number = described.get("id", said.get("project_id"))
    return number if type(number) is int else None, str(described.get("path_with_namespace") or "")[:255]
