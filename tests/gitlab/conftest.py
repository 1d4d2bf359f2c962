"""The emulator on a socket, and the part connected to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

import pytest

from postil.gitlab.events import EventLog
from postil.gitlab.instance.client import Instance
from postil.gitlab.instance.connection import Connection
from postil.gitlab.part import GitLab
from tests.emulator.app import Emulator
from tests.emulator.server import running
from tests.emulator.world import DEVELOPER
from tests.gitlab.groups import Groups
from tests.gitlab.kept_events import keep_events


class Naps:
    """Sleeps that take no time and remember how long they should have been."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


@pytest.fixture(scope="session")
def served() -> Generator[tuple[Emulator, str]]:
    """One emulator for the whole run."""
    emulator = Emulator()
    with running(emulator) as address:
        yield emulator, address


@pytest.fixture
def emulator(served: tuple[Emulator, str]) -> Emulator:
    """The emulator, as new."""
    served[0].reset()
    return served[0]


@pytest.fixture
def address(served: tuple[Emulator, str]) -> str:
    return served[1]


@pytest.fixture
def naps() -> Naps:
    return Naps()


Connect = Callable[..., Groups]


@pytest.fixture
async def connect(emulator: Emulator, address: str, naps: Naps) -> AsyncGenerator[Connect]:
    """Make parts connected to the emulator, each with its own token and rules; closes them afterwards."""
    made: list[Groups] = []

    def make(
        token: str = DEVELOPER,
        timeout: float = 5.0,
        read_only: bool = False,
        events: EventLog | None = None,
        **rules: Any,
    ) -> Groups:
        instance = Instance(address, timeout=timeout, read_only=read_only, sleep=naps)
        made.append(Groups(GitLab(Connection(instance, lambda: token, **rules), events)))
        return made[-1]

    yield make
    for part in made:
        await part.close()


@pytest.fixture
def gitlab(connect: Connect) -> Groups:
    """The part with a developer's token."""
    return connect()


@pytest.fixture
def log(emulator: Emulator) -> EventLog:
    """A private project with an open issue, a confidential one, and a guest: what its webhook brought."""
    return keep_events(emulator)
