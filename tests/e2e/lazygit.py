"""Real lazygit in a real terminal: a private tmux server, typed keys, and what the screen shows."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from tests.inbox.people import BIN, Person

STATE = "didshowhunkstaginghint: true\nstartuppopupversion: 5\n"
CONFIG = """
disableStartupPopups: true
git: {autoFetch: false}
update: {method: never}
gui: {showFileTree: false, showRandomTip: false}
"""


class Lazygit:
    """lazygit as a person sees it. Whatever is waited for is bounded; nothing sleeps for a fixed time."""

    def __init__(self, person: Person, lazygit: str, tmux: str, extra_config: str = "") -> None:
        self._person = person
        self._tmux = tmux
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
