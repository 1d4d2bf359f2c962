"""A call that lacks something only the person can give, at a page in the browser: how each client is told.

| client | hears |
|---|---|
| stateless, can open addresses | `input_required` with the address; it comes back when the person agreed |
| 2025-11-25, can open addresses | the error URL_ELICITATION_REQUIRED with the address |
| any other | the failure, with the address in its advice |
"""

from __future__ import annotations

import secrets
from typing import Any, cast

from postil.core import codes
from postil.core.call import Question
from postil.core.failure import Failure
from postil.wire.protocol.eras import handshake, stateless
from postil.wire.protocol.eras.stateless import ProtocolFailure
from postil.wire.protocol.request import Exchange, InputRequired

MESSAGE = "Connect your GitLab account to go on"


def at_a_page(exchange: Exchange, failure: Failure, url: str) -> Exception:
    """What to raise instead of the failure, so that the client shows the person this address."""
    key = failure.wants
    if exchange.era.stateless and key not in exchange.answers and _opens(exchange.meta.get(stateless.CAPABILITIES)):
        return InputRequired({key: Question("elicitation/create", {"mode": "url", "message": MESSAGE, "url": url})})
    if exchange.era is handshake.NEWEST and _opens(exchange.session.client_capabilities):
        asked = {"mode": "url", "elicitationId": secrets.token_urlsafe(12), "url": url, "message": MESSAGE}
        return ProtocolFailure(codes.URL_ELICITATION_REQUIRED, MESSAGE, elicitations=[asked])
    failure.advice = f"{MESSAGE}: open {url} in a browser, then call again."
    return failure


def _opens(capabilities: object) -> bool:
    declared = cast("dict[str, Any]", capabilities).get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(declared, dict) and "url" in declared
