"""The fixture, as the clients reach it."""

from collections.abc import Iterator

import pytest

from tests.serving import STDIO, http_server


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, ...]]:
    """How to reach the server, once over each transport: ("stdio", command…) or ("http", url)."""
    if request.param == "stdio":
        yield ("stdio", *STDIO)
    else:
        with http_server() as url:
            yield ("http", url)
