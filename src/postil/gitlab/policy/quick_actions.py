"""Quick actions: lines such as `/close` or `/assign @me` that GitLab executes when it finds them in a text.

A text that an assistant writes must not act by accident or by somebody else's words, so they are escaped unless
allowed.
"""

from __future__ import annotations

import re

# At the start of a line, a slash and a whole word: `/usr/bin` is a path and stays as it is.
_ENDS = r"\n\r\x0b\x0c\x85\u2028\u2029"
_ACTION = re.compile(rf"((?:\A|[{_ENDS}])[^\S{_ENDS}]*+)/(?=[A-Za-z_]++(?:\s|\Z))")


def escape_quick_actions(text: str) -> str:
    """Return the text with its quick actions escaped: it reads the same on the page, and does nothing."""
    return _ACTION.sub(r"\1\\/", text)
