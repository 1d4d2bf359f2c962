"""Real programs of a desktop, under an X server that nobody sees: kitty's screen, two clipboards (`make terminals`).

WezTerm and Zellij are in no Debian release: for them tests/inbox/lazygit/test_terminal.py has doubles.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.lazygit import CONFIG, STATE, VERSIONS, needs_lazygit
from tests.e2e.stories import make_reviewer
from tests.inbox.people import BIN, Person
from tests.needs import needs

PASTE = {"xclip": ("-selection", "clipboard", "-o"), "xsel": ("--clipboard", "--output")}


@contextmanager
def running_display() -> Generator[str]:
    """An X server of its own; yields its name."""
    reader, writer = os.pipe()
    command = [needs("Xvfb"), "-displayfd", str(writer), "-screen", "0", "1280x800x24", "-nolisten", "tcp"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, pass_fds=(writer,), stdout=quiet, stderr=quiet) as server:
        os.close(writer)
        try:
            with open(reader) as display:
                yield f":{display.readline().strip()}"
        finally:
            server.terminate()


def copy_with(name: str, display: str) -> None:
    """Export to the clipboard with one of the programs; then ask that program what is on it."""
    with tempfile.TemporaryDirectory() as folder:
        person = Person(Path(folder))
        person.send("Größe 日本", "a.txt", "2")
        hidden = Path(folder) / "bin"
        hidden.mkdir()
        for each in (name, "git"):
            (hidden / each).symlink_to(needs(each))
        person.environment |= {"DISPLAY": display, "PATH": str(hidden)}
        person.environment.pop("WAYLAND_DISPLAY", None)
        done = person.run("postil", "inbox", "export", "--clipboard")
        assert done.stdout.endswith(f"to the clipboard ({name})\n"), done.stdout + done.stderr
        found = subprocess.run(
            [needs(name), *PASTE[name]], env={**os.environ, "DISPLAY": display}, capture_output=True, timeout=60
        )
        assert found.stdout.decode().startswith("## a.txt\n\n**#1** fix, line 2, queued\n\nGröße 日本"), found


class Kitty:
    """lazygit in a real kitty."""

    def __init__(self, person: Person, version: str, display: str) -> None:
        lazygit = needs_lazygit(version)
        self._socket = f"unix:{person.root.parent / 'kitty'}"
        for path, text in (
            (person.state / "lazygit" / "state.yml", STATE),
            (person.config / "lazygit" / "config.yml", CONFIG),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._environment = {
            **person.environment,
            "PATH": f"{BIN}:{Path(lazygit).parent}:{os.environ['PATH']}",
            "DISPLAY": display,
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(person.root.parent),
        }
        for name in ("TMUX", "TMUX_PANE", "ZELLIJ_PANE_ID", "WEZTERM_PANE", "WAYLAND_DISPLAY"):
            self._environment.pop(name, None)
        done = subprocess.run([str(BIN / "postil"), "setup", "lazygit"], cwd=person.root, env=self._environment)
        assert done.returncode == 0
        options = ["-o", "allow_remote_control=yes", "-o", "initial_window_width=150c", "-o", "remember_window_size=no"]
        options += ["-o", "initial_window_height=44c", "--listen-on", self._socket, "--config", "NONE"]
        self.process = subprocess.Popen(
            [needs("kitty"), *options, lazygit], cwd=person.root, env=self._environment, stderr=subprocess.DEVNULL
        )

    def ask(self, *words: str) -> str:
        done = subprocess.run(
            [needs("kitty"), "@", "--to", self._socket, *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout

    def see(self, *texts: str) -> None:
        deadline = time.monotonic() + 60
        while not all(text in self.ask("get-text") for text in texts):
            assert time.monotonic() < deadline, f"{texts} never came:\n{self.ask('get-text')}"
            time.sleep(0.2)

    def press_until(self, key: str, *texts: str) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            self.ask("send-text", key)
            patience = time.monotonic() + 4
            while time.monotonic() < patience:
                if all(text in self.ask("get-text") for text in texts):
                    return
                time.sleep(0.2)
        raise AssertionError(f"{key!r} never led to {texts}:\n{self.ask('get-text')}")


def remark_in_kitty(display: str, version: str) -> None:
    """A remark on the line under the cursor, which kitty is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        person = make_reviewer(Path(folder))
        kitty = Kitty(person, version, display)
        try:
            kitty.see("MM code.txt", "+line SEVEN")
            kitty.press_until("\\r", "Staged changes")
            if kitty_selects_blocks(version):
                kitty.ask("send-text", "a")
            kitty.ask("send-text", "j")  # from the deleted line to the added one
            kitty.press_until("\\x19", "Remark on what?", "7  selected: +line SEVEN")
            kitty.press_until("\\r", "Remark on code.txt:7")
            kitty.ask("send-text", "in kitty")
            kitty.press_until("\\r", "#1 queued")
        finally:
            kitty.process.terminate()
            kitty.process.wait(60)
        (message,) = person.messages()
        assert (message["line"], message["code"], message["comment"]) == ("7", "line SEVEN", "in kitty")


def kitty_selects_blocks(version: str) -> bool:
    return tuple(map(int, version.split(".")[:2])) >= (0, 57)


def main() -> int:
    """All of them; exit 1 when one fails."""
    failed = 0
    with running_display() as display:
        for name in PASTE:
            copy_with(name, display)
            print(f"{name}: the export is on the clipboard", flush=True)
        for version in (VERSIONS[0], VERSIONS[-1]):
            try:
                remark_in_kitty(display, version)
                print(f"kitty, lazygit {version}: the line under the cursor", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"kitty, lazygit {version}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
