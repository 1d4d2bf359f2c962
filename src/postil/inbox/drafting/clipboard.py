"""The person's clipboard: a program of the desktop where there is one, else the terminal itself (OSC 52).

A terminal does not say whether it took the text, so the answer does not either.
"""

from __future__ import annotations

import os

from postil.core.failure import InvalidArguments
from postil.workspace.program import find_program

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "wl-copy": (),
    "xclip": ("-selection", "clipboard"),
    "xsel": ("--clipboard", "--input"),
    "pbcopy": (),
    "clip.exe": (),
    "tmux": ("load-buffer", "-w", "-"),  # its own buffer, and the clipboard of the terminal around it; since 3.2
}
PATIENCE = 10.0
LARGEST_IN_TERMINAL = 74_994
"""Bytes of base64 that terminals take: xterm's bound, the smallest of those known."""
INSTEAD = "Write it to a file instead: `postil inbox export > review.md`"


class NoClipboard(InvalidArguments):
    """Nothing that we know of reaches the clipboard."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The clipboard cannot be reached: {why}", advice=INSTEAD)


def copy_text(text: str, programs: tuple[str, ...], drawer: str) -> str:
    """Put a text on the clipboard. Returns what was done. Raises NoClipboard."""
    refused = ""
    for name in (*programs, "tmux") if drawer == "tmux" else programs:
        program = find_program(name)
        if not program:
            continue
        refused = _run(program, name, text)
        if not refused:
            return f"Copied {len(text.encode())} bytes to the clipboard ({name})"
    content = encode_osc52(text, in_tmux=drawer == "tmux")
    if len(content) > LARGEST_IN_TERMINAL:
        why = f"{refused}; " if refused else ""
        raise NoClipboard(f"{why}{len(text.encode())} bytes are more than a terminal takes")
    try:
        terminal = os.open("/dev/tty", os.O_WRONLY | os.O_NOCTTY)
    except OSError:
        raise NoClipboard(refused or "there is no desktop and no terminal here") from None
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(terminal, left) :]
    finally:
        os.close(terminal)
    said = f"Sent {len(text.encode())} bytes to the terminal, which puts them on the clipboard if it knows OSC 52"
    return f"{said} and tmux allows it (allow-passthrough on)" if drawer == "tmux" else said


def _run(program: str, name: str, text: str) -> str:
    """Returns why the program did not take the text; empty when it did."""
    import subprocess  # only those who copy pay for it

    content = text.encode("utf-16" if name == "clip.exe" else "utf-8")
    try:  # its outputs are closed: it goes on in the background for as long as it owns the clipboard
        done = subprocess.run(
            [program, *ARGUMENTS[name]],
            input=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{name} failed ({type(error).__name__})"
    return f"{name} ended with status {done.returncode}" if done.returncode else ""


def encode_osc52(text: str, *, in_tmux: bool) -> bytes:
    """Returns the control sequence that sets a terminal's clipboard; inside tmux the one that tmux hands on."""
    import base64

    sequence = b"\x1b]52;c;" + base64.b64encode(text.encode()) + b"\x07"
    return b"\x1bPtmux;" + sequence.replace(b"\x1b", b"\x1b\x1b") + b"\x1b\\" if in_tmux else sequence
