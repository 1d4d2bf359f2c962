"""`requestState`: what a multi-round call remembers, carried by the client and sealed against it.

Bound to the caller, the request and an expiry by HMAC. It is not secret, only unforgeable.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from postil.core import codes
from postil.wire.protocol.failures import ProtocolFailure

LIFETIME = 3600.0
LONGEST = 256 * 1024


class _Sealed(Struct, frozen=True, array_like=True):
    expires: float
    binding: str
    answers: dict[str, Any]


def bind(principal: str, method: str, name: str, arguments: object) -> str:
    """Returns what a state belongs to: this caller asking exactly this."""
    body = msgspec.json.encode([principal, method, name, arguments], order="deterministic")
    return hashlib.sha256(body).hexdigest()


def seal(answers: Mapping[str, Any], bound_to: str, secret: bytes) -> str:
    """Returns the state as text for the client to carry."""
    body = msgspec.json.encode(_Sealed(time.time() + LIFETIME, bound_to, dict(answers)))
    return base64.urlsafe_b64encode(_tag(body, secret) + body).decode("ascii")


def unseal(text: object, bound_to: str, secret: bytes) -> dict[str, Any]:
    """Returns the answers inside a state that came back. Raises where it is forged, expired or another's."""
    try:
        if not isinstance(text, str) or len(text) > LONGEST:
            raise ValueError
        sealed = base64.urlsafe_b64decode(text)
        if base64.urlsafe_b64encode(sealed).decode("ascii") != text:  # the decoder ignores junk between characters
            raise ValueError
        tag, body = sealed[:32], sealed[32:]
        if not hmac.compare_digest(tag, _tag(body, secret)):
            raise ValueError
        state = msgspec.json.decode(body, type=_Sealed)
        if state.binding != bound_to or state.expires < time.time():
            raise ValueError
    except (ValueError, RecursionError):
        raise ProtocolFailure(codes.INVALID_PARAMS, "Invalid or expired requestState") from None
    return state.answers


def _tag(body: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, body, "sha256")
