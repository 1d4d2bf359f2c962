"""A real terminal: a private tmux server, typed keys, and what the screen shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.needs import needs

CODE = "import sys; from postil.surfaces.shell.main import {} as run; sys.exit(run())"


class Screen:
    """A program on a terminal, as a person sees it. Whatever is waited for is bounded; nothing sleeps for a fixed time.

    When the program is done, the screen says its exit status, and whether the terminal edits lines (`icanon`).
    """

    def __init__(self, where: Path, *words: str, program: str = "git_mile", size: tuple[int, int] = (120, 30)) -> None:
        self._tmux = needs("tmux")
        self._folder = Path(tempfile.mkdtemp(prefix="postil-tmux-"))  # a socket's path must be short
        run = subprocess.list2cmdline([sys.executable, "-c", CODE.format(program), *words])
        script = self._folder / "run"
        ended = "echo ended $? $(stty -a | grep -o -- '-\\?icanon')"
        script.write_text(f"{run}; {ended}; cat\n")
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        environment.pop("TMUX", None)
        command = ["-u", "-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1])]
        self._run(*command, f"sh {script}", cwd=where, env=environment)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run([self._tmux, "-S", self._socket, "kill-server"], timeout=60, capture_output=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _socket(self) -> str:
        return str(self._folder / "socket")

    def _run(self, *words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            [self._tmux, "-S", self._socket, *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read(self) -> list[str]:
        """The lines of the screen."""
        return self._run("capture-pane", "-p").split("\n")

    def see(self, *texts: str) -> list[str]:
        """Wait until the screen shows all of these; the screen then."""
        return self._wait(lambda shown: all(text in shown for text in texts), f"{texts} never came")

    def miss(self, text: str) -> list[str]:
        """Wait until the screen does not show this; the screen then."""
        return self._wait(lambda shown: text not in shown, f"{text} never went")

    def _wait(self, is_so: Callable[[str], bool], otherwise: str) -> list[str]:
        deadline = time.monotonic() + 60
        while not is_so(shown := "\n".join(self.read())):
            assert time.monotonic() < deadline, f"{otherwise}:\n{shown}"
            time.sleep(0.05)
        return shown.split("\n")

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names for them."""
        self._run("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type a text."""
        self._run("send-keys", "-l", text)

    def resize(self, columns: int, lines: int) -> None:
        """Make the terminal another size."""
        self._run("resize-window", "-x", str(columns), "-y", str(lines))
