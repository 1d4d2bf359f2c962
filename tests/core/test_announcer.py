"""Announcements reach those who listen, and nobody after they stopped."""

from __future__ import annotations

from collections.abc import Callable

from postil.core.announcer import Announcement, Tell, announcer
from postil.core.registry import Registry


class Tower:
    """A bell that tells whoever listens."""

    def __init__(self) -> None:
        self.listeners: list[Tell] = []

    @announcer("bell")
    def listen(self, tell: Tell) -> Callable[[], None]:
        self.listeners.append(tell)
        return lambda: self.listeners.remove(tell)

    def strike(self, hour: int) -> None:
        for tell in self.listeners:
            tell(Announcement("info", f"{hour} o'clock", {"hour": hour}))


def test_who_listens_hears_every_part_until_they_stop() -> None:
    here, there = Tower(), Tower()
    heard: list[Announcement] = []
    stop = Registry.of([("here", here), ("there", there)]).announce(heard.append)
    here.strike(1)
    there.strike(2)
    stop()
    here.strike(3)
    assert heard == [Announcement("info", "1 o'clock", {"hour": 1}), Announcement("info", "2 o'clock", {"hour": 2})]


def test_a_view_that_shows_nothing_of_a_part_does_not_hear_it() -> None:
    tower = Tower()
    heard: list[Announcement] = []
    Registry.of([("here", tower)]).narrowed(lambda entry: True).announce(heard.append)
    tower.strike(1)
    assert heard == []
