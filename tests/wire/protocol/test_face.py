"""How a server introduces itself."""

from __future__ import annotations

from postil.wire.protocol.face import Face


def test_a_vendor_is_named_only_where_there_is_one() -> None:
    assert Face("a", "1", {}).info() == {"name": "a", "version": "1"}
    assert Face("a", "1", {}, vendor="us").info() == {"name": "a", "version": "1", "vendor": "us"}
