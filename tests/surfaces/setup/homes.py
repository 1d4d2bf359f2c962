"""A home of one's own for tests that write into it."""

from pathlib import Path

from postil.surfaces.setup.clients import CLIENTS
from tests.surfaces.programs import BIN


def home(tmp_path: Path) -> dict[str, str]:
    """A home of one's own: these tests write into it."""
    return {
        "PATH": f"{BIN}:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "home" / ".config"),
        "XDG_STATE_HOME": str(tmp_path / "home" / "state"),
    }


def file_of(name: str, repository: Path, tmp_path: Path) -> Path:
    client = CLIENTS[name]
    places = {"repository": repository, "home": tmp_path / "home", "config": tmp_path / "home" / ".config"}
    return places[client.place] / client.file
