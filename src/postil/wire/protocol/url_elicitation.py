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

from msgspec import Struct

from postil.core import codes
from postil.core.call import Question
from postil.core.failure import Failure
from postil.wire.protocol.eras import era, stateless
from postil.wire.protocol.events import Work
from postil.wire.protocol.failures import InputRequired, ProtocolFailure


class Page(Struct, frozen=True):
    """Where a person can give what a call lacks, and the sentence that asks for it."""

    url: str
    message: str


def ask_at_page(work: Work, capabilities: object, failure: Failure, page: Page) -> Exception:
    """Returns what to raise instead of the failure, so that the client shows the person this address."""
    key, asked = failure.wants, {"mode": "url", "message": page.message, "url": page.url}
    if work.era.stateless and key not in work.answers and _can_open(work.meta.get(stateless.CAPABILITIES)):
        return InputRequired({key: Question("elicitation/create", asked)})
    if work.era is era.NEWEST and _can_open(capabilities):
        asked = {"mode": "url", "elicitationId": secrets.token_urlsafe(12), "url": page.url, "message": page.message}
        return ProtocolFailure(codes.URL_ELICITATION_REQUIRED, page.message, elicitations=[asked])
    failure.advice = f"{page.message}: open {page.url} in a browser, then call again."
    return failure


def _can_open(capabilities: object) -> bool:
    declared = cast("dict[str, Any]", capabilities).get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(declared, dict) and "url" in declared
