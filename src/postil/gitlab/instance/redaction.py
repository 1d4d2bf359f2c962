"""Secrets that must never reach a log, an error or a result: how they look and how they are struck out."""

from __future__ import annotations

import re

# Every kind of token GitLab gives out has a prefix of its own; `GR1348941` is the old runner registration token.
_TOKENS = re.compile(
    r"\b(?:gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|wt)-[\w=.-]{4,}|GR1348941[\w-]{4,}|whsec_[\w+/=-]{4,})"
)
_USERINFO = re.compile(r"(?<=://)[^/\s@]+@")
HIDDEN = "[hidden]"


def redact(text: str, *known: str) -> str:
    """Return the text without tokens, without credentials in addresses, and without the secrets given."""
    for secret in known:
        if secret:
            text = text.replace(secret, HIDDEN)
    return _USERINFO.sub(f"{HIDDEN}@", _TOKENS.sub(HIDDEN, text))
