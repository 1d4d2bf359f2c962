"""A small part of the campaign of torn caches."""

from __future__ import annotations

import random

import pytest

from tests.chaos.tears import CACHES, tear_caches


@pytest.mark.parametrize("name", CACHES)
def test_a_torn_cache_is_made_anew_or_noticed(name: str) -> None:
    assert tear_caches(CACHES[name], 8, random.Random(16)).wrong == 0
