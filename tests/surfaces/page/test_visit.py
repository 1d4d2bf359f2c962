"""One visit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Struct

from postil.core.call import Caller
from postil.surfaces.gateway.visitor import Visitor
from postil.surfaces.page.visit import Visit, mask, unmask

TOKEN = bytes(range(16))


class Wide(Struct):
    name: str
    count: int
    secret: str = "x"


class Narrow(Struct):
    name: str


def visit(answer: object) -> Visit:
    async def run(name: str, arguments: Mapping[str, Any]) -> object:
        return answer

    visitor = Visitor(Caller(), "token")
    return Visit("/x", [("f", "a"), ("f", "b")], {}, visitor, run, TOKEN, lambda name: name == "there")


def test_a_masked_token_is_never_the_same_and_comes_back() -> None:
    assert mask(TOKEN) != mask(TOKEN)
    assert unmask(mask(TOKEN)) == TOKEN
    assert unmask("no hex") == b""
    assert unmask("") == b""


@pytest.mark.anyio
async def test_an_answer_is_read_into_what_the_view_shows() -> None:
    assert await visit(Wide("a", 1)).call("anything", Narrow) == Narrow("a")


def test_a_name_may_stand_several_times_in_an_address() -> None:
    asked = visit(None)
    assert asked.every("f") == ["a", "b"]
    assert asked.query == {"f": "b"}
    assert asked.offers("there")


def test_every_form_has_the_token() -> None:
    assert 'name="form-token"' in visit(None).form_token()
