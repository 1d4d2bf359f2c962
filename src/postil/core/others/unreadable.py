"""What decoding raises where others' bytes, or bytes that a disk gave back damaged, say nothing that can be read."""

from __future__ import annotations

from typing import Final

import msgspec

UNREADABLE: Final = (msgspec.DecodeError, UnicodeError, RecursionError)
"""msgspec lets Python's own errors through: of a text inside that is not UTF-8, and of what is nested too deeply."""
