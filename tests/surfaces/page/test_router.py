"""Which view answers which address."""

from __future__ import annotations

from importlib import import_module

import pytest

from postil.surfaces.page.router import VIEWS, find_route, has_path


@pytest.mark.parametrize("name", sorted(set(VIEWS.values())))
def test_every_view_answers_addresses_of_its_own_words(name: str) -> None:
    routes = import_module(f"postil.surfaces.page.views.{name}").ROUTES
    assert routes
    for route in routes:
        assert VIEWS[route.pattern[1:].partition("/")[0]] == name


def test_a_variable_is_one_piece_of_the_address() -> None:
    found = find_route("GET", "/inbox/12")
    assert found is not None
    assert found[1] == {"number": "12"}
    assert find_route("GET", "/inbox/1/2/3") is None
    assert find_route("POST", "/inbox/12") is None


def test_other_addresses_are_not_the_pages() -> None:
    assert not has_path("/metrics")
    assert not has_path("/inboxes")
    assert has_path("/")
