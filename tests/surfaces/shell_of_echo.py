"""The shell over the echo part: what `postil` does with any part, without one of the real ones."""

from __future__ import annotations

from postil.core.registry import Registry
from postil.settings import Settings
from postil.surfaces.run import run
from tests.core.echo import Echo


class EchoApp:
    """A composition of one part."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.echo = Echo()

    def registry(self) -> Registry:
        return Registry.of([("echo", self.echo)], self.settings.offer())


def postil(*words: str) -> int:
    """Run one command line in this process; the exit status."""
    return run(list(words), "postil", (), EchoApp)
