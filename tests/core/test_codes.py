"""The error codes: every number has a name, and no name a number outside of JSON-RPC's reserved range."""

from __future__ import annotations

import re
from pathlib import Path

import postil
from postil.core import codes

ROOMS = ("core/failure.py", "wire/**/*.py")


def test_every_code_lies_in_the_range_that_json_rpc_reserves() -> None:
    named = {name: value for name, value in vars(codes).items() if name.isupper()}
    assert named
    assert all(-32800 <= value <= -32000 for value in named.values())


def test_the_codes_of_json_rpc_have_the_numbers_of_its_specification() -> None:
    spoken = (codes.PARSE_ERROR, codes.INVALID_REQUEST, codes.METHOD_NOT_FOUND, codes.INVALID_PARAMS)
    assert (*spoken, codes.INTERNAL_ERROR) == (-32700, -32600, -32601, -32602, -32603)


def test_no_module_writes_a_number_where_a_code_has_a_name() -> None:
    root = Path(postil.__file__).parent
    files = [path for room in ROOMS for path in root.glob(room)]
    assert files
    assert [path.name for path in files if re.search(r"-32\d{3}\b", path.read_text())] == []
