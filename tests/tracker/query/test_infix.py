"""The infix syntax."""

from __future__ import annotations

import pytest

from postil.tracker.query.parse import parse
from postil.tracker.query.tree import QueryFault


def test_deep_nesting_is_refused():
    with pytest.raises(QueryFault, match="nested too deeply"):
        parse("(" * 500 + "status == open" + ")" * 500)
    with pytest.raises(QueryFault, match="nested too deeply"):
        parse("(not " * 500 + "(= status open)" + ")" * 500)
