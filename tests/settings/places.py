"""A repository, a home beside it, and settings read there."""

from pathlib import Path

import pytest

from postil.settings.load import load
from postil.settings.model import Settings


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository (as far as settings look) and a home beside it."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    (tmp_path / "config" / "postil").mkdir(parents=True)
    return tmp_path


def read(place: Path, *, flags: dict[str, object] | None = None, file: str = "", **environ: str) -> Settings:
    surroundings = {"HOME": str(place), "XDG_CONFIG_HOME": str(place / "config"), **environ}
    return load(surroundings, str(place / "repo" / "src"), flags, file)


__all__ = ["place", "read"]
