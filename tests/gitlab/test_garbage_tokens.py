"""Garbage tokens from many addresses at a real server: few questions to GitLab, and no harm to anybody else. S6."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from postil.surfaces.gateway.quotas import FAILURES
from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER, READER
from tests.gitlab.http_server import postil
from tests.gitlab.test_over_http import asked

ADDRESSES, EACH = 12, 10
BODY = json.dumps(asked("get_project", project_id=123))


@pytest.fixture
def server(address: str, emulator: Emulator, tmp_path: Path) -> Generator[str]:
    """Behind a proxy at 127.0.0.1; whoever comes from another address comes by themselves."""
    (tmp_path / "postil.toml").write_text('[http]\ntrusted_proxies = ["127.0.0.1"]\n[limits]\nper_minute = 0\n')
    folder = tmp_path / "workspace"
    with postil(address, folder, environ={"POSTIL_CONFIG": str(tmp_path / "postil.toml")}) as url:
        yield url


class Visitor:
    """One connection from one address of this machine."""

    def __init__(self, endpoint: str, source: str = "127.0.0.1") -> None:
        parts = urlsplit(endpoint)
        self._connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=20, source_address=(source, 0)
        )

    def status(self, token: str, forwarded: str = "") -> int:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        if forwarded:
            headers["X-Forwarded-For"] = forwarded
        self._connection.request("POST", "/mcp", BODY, headers)
        with self._connection.getresponse() as response:
            response.read()
            return response.status

    def close(self) -> None:
        self._connection.close()


def verifications(emulator: Emulator) -> Counter[str | None]:
    """How often GitLab was asked whose each token is."""
    return Counter(seen.token for seen in emulator.seen if seen.path.endswith("/self"))


def test_each_token_of_many_addresses_is_asked_about_once(server: str, emulator: Emulator) -> None:
    proxy = Visitor(server)
    assert proxy.status(DEVELOPER, "198.51.100.1") == 200
    garbage = [(f"glpat-garbage-{n}", f"10.0.{n // EACH // 100}.{n // EACH % 100}") for n in range(ADDRESSES * EACH)]
    for _ in range(3):  # ten wrong ones of each address, thrice: as many as an address may try
        assert {proxy.status(token, forwarded) for token, forwarded in garbage} == {401}
    assert verifications(emulator) == {DEVELOPER: 1, **dict.fromkeys((token for token, _ in garbage), 1)}
    tried_enough = garbage[0][1]
    assert proxy.status(READER, tried_enough) == 429  # not known yet, and from an address that has tried enough
    assert proxy.status(DEVELOPER, tried_enough) == 200  # known to be good, wherever it comes from
    assert proxy.status(READER, "198.51.100.2") == 200
    proxy.close()


def test_an_address_of_its_own_is_counted_whatever_it_says_about_others(server: str, emulator: Emulator) -> None:
    wrong, other = Visitor(server, "127.0.0.9"), Visitor(server, "127.0.0.10")
    statuses = Counter(wrong.status(f"glpat-garbage-{n}", f"203.0.113.{n}") for n in range(FAILURES + 20))
    assert statuses == {401: FAILURES, 429: 20}
    assert verifications(emulator).total() == FAILURES
    assert other.status("glpat-garbage-again") == 401  # the neighbour has its own attempts
    assert other.status(DEVELOPER) == 200
    wrong.close()
    other.close()
