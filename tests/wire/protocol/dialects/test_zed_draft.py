"""Zed's first draft, where the contract's examples (tests/contracts) show nothing: fewer capabilities, and bytes."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from postil.core.registry import Registry
from postil.core.resource import resource
from postil.wire.protocol.dialects.zed_draft import answer_initialize
from postil.wire.protocol.face import UNITED, Face
from postil.wire.server import Server
from tests.wire.talk import Talk

pytestmark = pytest.mark.anyio


class Pictures:
    """A part with bytes."""

    @resource("pictures://one", name="One", mime_type="image/png")
    def one(self) -> bytes:
        return b"\x89PNG"


def test_a_face_claims_only_what_it_has() -> None:
    claimed: dict[str, Any] = answer_initialize(Face("f", "1", {"tools": {}}))["capabilities"]
    assert claimed == {"experimental": {}, "logging": {}, "tools": {}}


async def test_bytes_are_sent_as_a_blob() -> None:
    talk = Talk(Server(Registry.of([("pictures", Pictures())]), Face("f", "1", UNITED)))
    await talk.initialize(1)
    (read,) = (await talk.ask("resources/read", {"uri": "pictures://one"}))["result"]["contents"]
    assert (read["contentType"], base64.b64decode(read["blob"])) == ("blob", b"\x89PNG")
