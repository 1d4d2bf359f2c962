"""How a server introduces itself."""

from __future__ import annotations

import base64

from postil.wire.protocol.eras.era import HANDSHAKE
from postil.wire.protocol.face import Face


def test_a_vendor_is_named_only_where_there_is_one() -> None:
    assert Face("a", "1", {}).info() == {"name": "a", "version": "1"}
    assert Face("a", "1", {}, vendor="us").info() == {"name": "a", "version": "1", "vendor": "us"}


def test_a_client_is_told_what_its_version_has_for_people() -> None:
    face = Face("a", "1", {}, title="A", website="https://a.example", icon="<svg>" + "x" * 100 + "</svg>")
    newest, older, oldest = (HANDSHAKE[version] for version in ("2025-11-25", "2025-06-18", "2024-11-05"))
    assert face.introduction(oldest) == face.info()
    assert face.introduction(older) == {**face.info(), "title": "A"}
    told = face.introduction(newest)
    assert told["websiteUrl"] == "https://a.example"
    (icon,) = told["icons"]
    kind, _, encoded = icon["src"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(encoded, validate=True).decode() == face.icon
    assert "\n" not in icon["src"]
