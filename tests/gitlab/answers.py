"""How tests look at answers: as direct JSON-RPC gives them, and as a model reads them."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from postil.core.content import Text
from postil.wire.protocol import shapes
from postil.wire.protocol.eras.era import NEWEST


def direct(answer: object) -> dict[str, Any]:
    """The answer of a direct method."""
    return cast(dict[str, Any], msgspec.to_builtins(shapes.make_plain(answer)))


def structured(answer: object) -> dict[str, Any]:
    """The structured content of tools/call."""
    return cast(dict[str, Any], msgspec.to_builtins(answer))


def text(answer: object) -> str:
    """What a model reads."""
    return "\n\n".join(block.text for block in shapes.make_blocks(answer, NEWEST) if isinstance(block, Text))
