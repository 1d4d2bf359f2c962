"""Real lazygit in a real terminal: a private tmux server, typed keys, and what the screen shows."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.inbox.people import BIN, Person
from tests.needs import ROOT, needs

STATE = "didshowhunkstaginghint: true\nstartuppopupversion: 5\n"
CONFIG = """
disableStartupPopups: true
git: {autoFetch: false}
update: {method: never}
gui: {showFileTree: false, showRandomTip: false}
"""


LOCK = ROOT / "tests" / "e2e" / "lazygit.lock"
VERSIONS = tuple(re.findall(r"^lazygit-py==(\S+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE))
"""Oldest first."""
SELECTS_BLOCKS_SINCE = (0, 57)
"""From here on a diff opens with a whole block selected, and `a` changes to single lines."""


def needs_lazygit(version: str) -> str:
    """The path of a version of lazygit; skips the test where it is not installed (in CI that is a failure)."""
    program = ROOT / ".tools" / "lazygit" / version / "lazygit"
    if not program.is_file():
        pytest.skip(f"needs lazygit {version}: run `make tools`")
    return str(program)


def open_lazygit(person: Person, version: str, extra_config: str = "", *, set_up: bool = True) -> "Lazygit":
    """lazygit of a version in the person's repository, after `postil setup lazygit` for that version."""
    program = needs_lazygit(version)
    person.environment["PATH"] = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    if set_up:
        done = person.run("postil", "setup", "lazygit")
        assert done.returncode == 0, done.stderr
    return Lazygit(person, program, needs("tmux"), extra_config)


class Lazygit:
    """lazygit as a person sees it. Whatever is waited for is bounded; nothing sleeps for a fixed time."""

    def __init__(self, person: Person, lazygit: str, tmux: str, extra_config: str = "") -> None:
        self._tmux = tmux
        major, minor = Path(lazygit).parent.name.split(".")[:2]
        self.version = int(major), int(minor)
        self._folder = Path(tempfile.mkdtemp(prefix="postil-tmux-"))  # a socket's path must be short
        for path, text in (
            (person.state / "lazygit" / "state.yml", STATE),
            (person.config / "lazygit" / "config.yml", CONFIG + extra_config),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        environment = {
            **person.environment,
            "PATH": f"{BIN}:{Path(lazygit).parent}:{os.environ['PATH']}",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
        }
        environment.pop("TMUX", None)
        command = ["-u", "-f", "/dev/null", "new-session", "-d", "-x", "160", "-y", "48", lazygit]
        subprocess.run([tmux, "-S", self._socket, *command], cwd=person.root, env=environment, check=True, timeout=20)

    def __enter__(self) -> "Lazygit":  # noqa: PYI034
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run([self._tmux, "-S", self._socket, "kill-server"], timeout=20, capture_output=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _socket(self) -> str:
        return str(self._folder / "socket")

    def screen(self) -> str:
        """What is on the screen."""
        shown = subprocess.run(
            [self._tmux, "-S", self._socket, "capture-pane", "-p"], capture_output=True, text=True, timeout=20
        )
        return shown.stdout

    def see(self, *texts: str) -> None:
        """Wait until the screen shows all of these."""
        deadline = time.monotonic() + 30
        while not all(text in self.screen() for text in texts):
            assert time.monotonic() < deadline, f"{texts} never came:\n{self.screen()}"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names for them."""
        subprocess.run([self._tmux, "-S", self._socket, "send-keys", *keys], check=True, timeout=20)

    def coloured_screen(self) -> str:
        """What is on the screen, with its colours."""
        shown = subprocess.run(
            [self._tmux, "-S", self._socket, "capture-pane", "-e", "-p"], capture_output=True, text=True, timeout=20
        )
        return shown.stdout

    def wait_for(self, look: Callable[[], int | None]) -> int:
        """Look until there is something to see."""
        deadline = time.monotonic() + 30
        while (found := look()) is None:
            assert time.monotonic() < deadline, self.screen()
            time.sleep(0.05)
        return found

    def press_times(self, key: str, times: int) -> None:
        """Press a key several times."""
        if times > 0:
            subprocess.run([self._tmux, "-S", self._socket, "send-keys", "-N", str(times), key], check=True, timeout=20)

    def select_lines(self) -> None:
        """Select single lines, where this version selects whole blocks at first."""
        if self.version >= SELECTS_BLOCKS_SINCE:
            self.press("a")

    def remark(self, choice: str, text: str, number: int, receipt: str = "queued") -> None:
        """Press the key until the menu begins with `choice`, take it and type a remark."""
        self.choose("C-y", choice)
        self.see("Remark on ")
        self.type(text)
        self.press("Enter")
        self.see(f"#{number} {receipt}")
        self.press("Escape")
        self.miss(f"#{number} {receipt}")

    def choose(self, key: str, choice: str) -> None:
        """Press a key until the menu begins with `choice`, and take it."""
        deadline = time.monotonic() + 30
        while not (shown := self.read_menu()) or not shown.startswith(choice):
            assert time.monotonic() < deadline, f"{choice!r} never came first:\n{self.screen()}"
            if "Remark on what?" in self.screen():  # it was pressed before an earlier key was done
                self.press("Escape")
                self.miss("Remark on what?")
            self.press_until(key, "Remark on what?")
        self.press("Enter")
        self.miss("Remark on what?")

    def read_menu(self) -> str:
        """The first entry of the menu, or nothing."""
        rows = self.screen().split("\n")
        at = next((number for number, row in enumerate(rows) if "Remark on what?" in row), None)
        if at is None:
            return ""
        column = rows[at].index("Remark on what?") - 1
        return rows[at + 1][column:].lstrip("│ ")

    def miss(self, text: str) -> None:
        """Wait until the screen does not show this any more."""
        deadline = time.monotonic() + 30
        while text in self.screen():
            assert time.monotonic() < deadline, f"{text} never went:\n{self.screen()}"
            time.sleep(0.05)

    def type(self, text: str) -> None:
        """Type text letter by letter."""
        subprocess.run([self._tmux, "-S", self._socket, "send-keys", "-l", text], check=True, timeout=20)

    def press_until(self, key: str, *texts: str) -> None:
        """Press a key again and again until the screen shows what it leads to: an early key may be swallowed."""
        deadline = time.monotonic() + 30
        while True:
            self.press(key)
            patience = time.monotonic() + 2
            while time.monotonic() < patience:
                if all(text in self.screen() for text in texts):
                    return
                time.sleep(0.05)
            assert time.monotonic() < deadline, f"{key} never led to {texts}:\n{self.screen()}"
