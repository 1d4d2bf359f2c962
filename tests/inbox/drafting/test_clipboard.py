"""The clipboard: a program that takes the text, the terminal's own sequence, and a refusal that says what to do.

`make terminals` tries the real programs of a desktop.
"""

import base64
import os
import pty
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from postil.inbox.drafting.clipboard import NoClipboard, copy_text, encode_osc52
from tests.inbox.people import BIN, Person
from tests.needs import needs


def program(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_the_first_program_that_takes_the_text_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    program(tmp_path, "xclip", "exit 1")
    program(tmp_path, "xsel", f'echo "$@" > {tmp_path}/words; cat > {tmp_path}/text')
    assert copy_text("# Größe\n", ("wl-copy-none", "xclip", "xsel"), "") == "Copied 10 bytes to the clipboard (xsel)"
    assert (tmp_path / "text").read_text() == "# Größe\n"
    assert (tmp_path / "words").read_text() == "--clipboard --input\n"


def test_windows_gets_the_letters_in_its_own_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    program(tmp_path, "clip.exe", f"cat > {tmp_path}/text")
    copy_text("größe", ("clip.exe",), "")
    assert (tmp_path / "text").read_bytes().decode("utf-16") == "größe"


def test_inside_tmux_the_sequence_is_wrapped_so_that_it_is_handed_on() -> None:
    plain = encode_osc52("hi", in_tmux=False)
    assert plain == b"\x1b]52;c;aGk=\x07"
    assert encode_osc52("hi", in_tmux=True) == b"\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\"


def test_more_than_a_terminal_takes_is_refused_and_said() -> None:
    with pytest.raises(NoClipboard, match="more than a terminal takes") as refused:
        copy_text("x" * 80_000, (), "")
    assert "inbox export > review.md" in refused.value.advice


def test_a_terminal_gets_the_export_as_a_sequence(person: Person) -> None:
    person.send("on the clipboard", "a.txt", "2")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "TMUX", "TMUX_PANE"):
        person.environment.pop(name, None)
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(person.root)
        os.execve(BIN / "postil", ["postil", "inbox", "export", "--clipboard"], person.environment)
    said = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not chunk:
            break
        said += chunk
    assert os.waitpid(process, 0)[1] == 0
    os.close(terminal)
    before, _, rest = said.partition(b"\x1b]52;c;")
    content = base64.b64decode(rest.partition(b"\x07")[0]).decode()
    assert before == b""
    assert content.startswith("## a.txt\n\n**#1** fix, line 2, queued\n\non the clipboard\n")
    assert f"Sent {len(content.encode())} bytes to the terminal".encode() in rest


def test_without_a_desktop_and_a_terminal_it_is_refused(person: Person) -> None:
    person.send("on the clipboard", "a.txt", "2")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "TMUX", "TMUX_PANE"):
        person.environment.pop(name, None)
    done = subprocess.run(
        [str(BIN / "postil"), "inbox", "export", "--clipboard"],
        cwd=person.root,
        env=person.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,  # no terminal at all
    )
    assert done.returncode == 2
    assert "The clipboard cannot be reached: there is no desktop and no terminal here" in done.stderr


@pytest.fixture
def socket() -> Generator[str]:
    folder = tempfile.mkdtemp(prefix="postil-tmux-")  # a socket's path must be short
    yield os.path.join(folder, "socket")
    shutil.rmtree(folder, ignore_errors=True)


def test_in_real_tmux_the_text_is_in_its_buffer(person: Person, socket: str) -> None:
    tmux = needs("tmux")
    person.send("through tmux", "a.txt", "2")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "TMUX", "TMUX_PANE"):
        person.environment.pop(name, None)
    command = f"'{BIN / 'postil'}' inbox export --clipboard; '{tmux}' wait-for -S copied; sleep 60"
    start = [tmux, "-S", socket, "-f", "/dev/null", "new-session", "-d", command]
    subprocess.run(start, cwd=person.root, env=person.environment, check=True, timeout=60)
    try:
        subprocess.run([tmux, "-S", socket, "wait-for", "copied"], check=True, timeout=60)
        shown = subprocess.run(
            [tmux, "-S", socket, "show-buffer"], capture_output=True, text=True, check=True, timeout=60
        )
    finally:
        subprocess.run([tmux, "-S", socket, "kill-server"], capture_output=True, timeout=60)
    assert shown.stdout.startswith("## a.txt\n\n**#1** fix, line 2, queued\n\nthrough tmux")
