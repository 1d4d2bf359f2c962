"""The script and the stylesheet: named by their content, compressed once, kept by browsers for good."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files

from msgspec import Struct

KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
NAMES = ("page.css", "page.js", "icon.svg")
PREFIX = "/assets/"
ICON = "/favicon.ico"
"""What browsers ask for on their own."""


class Asset(Struct, frozen=True):
    """One file, as it is sent."""

    address: str
    kind: str
    content: bytes
    packed: bytes


@cache
def read_assets() -> dict[str, Asset]:
    """Returns the files by their plain names."""
    found: dict[str, Asset] = {}
    for name in NAMES:
        content = (files("postil.surfaces.page") / "assets" / name).read_bytes()
        stem, _, suffix = name.rpartition(".")
        digest = hashlib.sha256(content).hexdigest()[:16]
        packed = gzip.compress(content, 9, mtime=0)
        found[name] = Asset(f"{PREFIX}{stem}.{digest}.{suffix}", KINDS[suffix], content, packed)
    return found


def find_asset(path: str) -> Asset | None:
    """Returns the file at an address; None where there is none, also for one of an older version."""
    if path == ICON:
        return read_assets()["icon.svg"]
    return next((asset for asset in read_assets().values() if asset.address == path), None)
