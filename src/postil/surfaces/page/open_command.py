"""`postil open`: the page of this workspace in the browser, by the server that runs or by a new one."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from postil.core.failure import Failure
from postil.surfaces.page.running_server import Running, drop_note, lock_start, log_path, read_note
from postil.surfaces.shell.flags import Parser
from postil.surfaces.shell.output import show
from postil.workspace.program import find_own_program

if TYPE_CHECKING:
    from postil.settings.model import Settings
    from postil.surfaces.composition import Composition
    from postil.surfaces.shell.argv import Globals

IDLE = 30 * 60
"""Seconds without a page or a client after which a server that `open` started ends."""
START = 30.0
ANSWER = 5.0
PAUSE = 0.02


class NoPage(Failure):
    """The page cannot be opened."""

    exit_status = 4


def run_open(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Open the page, or end its server."""
    parser = Parser(prog=f"{program} open", description="Open the page of this workspace in the browser")
    parser.add_argument("--stop", action="store_true", help="end the server of the page")
    parser.add_argument("--no-browser", action="store_true", dest="no_browser", help="only print the address")
    given, common = parser.read(words[1:])
    settings = composed.settings
    with lock_start(settings):
        if given["stop"]:
            return show("Stopped" if stop(settings) else "No server was running", settings, as_json=common.as_json)
        address = ask_address(settings) or _start(settings)
    if common.as_json:
        return show({"address": address}, settings, as_json=True)
    if given["no_browser"] or not settings.terminal.can_browse or not _browse(address):
        return show(address, settings, as_json=False)
    sys.stderr.write(f"postil: opened {address.partition('?')[0]}\n")
    return 0


def ask_address(settings: Settings) -> str:
    """Returns a new one-time address of the server that was noted; empty where it does not answer."""
    noted = read_note(settings)
    return _ask(noted) if noted is not None else ""


def _ask(running: Running) -> str:
    import http.client  # only who opens the page speaks to it
    from urllib.parse import urlsplit

    parts = urlsplit(running.base)
    secure = parts.scheme == "https"
    made = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = made(parts.hostname or "", parts.port, timeout=ANSWER)
    try:
        connection.request("POST", "/open", headers={"Authorization": f"Bearer {running.token}"})
        answer = connection.getresponse()
        path = answer.read(4096).decode("ascii", "replace")
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()
    return running.base + path if answer.status == 200 and path.startswith("/open?token=") else ""


def _start(settings: Settings) -> str:
    """Start a server in the background. Returns a one-time address of it."""
    import subprocess

    path = log_path(settings)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    log = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    words = [find_own_program(), "serve", "--http", "127.0.0.1:0", "--auth", "local", "--idle-shutdown", str(IDLE)]
    try:
        process = subprocess.Popen(
            words, cwd=settings.cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    finally:
        os.close(log)
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        noted = read_note(settings)
        if noted is not None and noted.process == process.pid and (address := _ask(noted)):
            return address
        time.sleep(PAUSE)
    raise NoPage("The server of the page did not start", advice=f"What it said is in {path}")


def stop(settings: Settings) -> bool:
    """End the server that was noted, if it is one of ours that answers. Returns whether it was."""
    noted = read_note(settings)
    if noted is None or not _ask(noted):
        return False
    try:
        os.kill(noted.process, signal.SIGTERM)
    except OSError:
        return False
    end = time.monotonic() + START
    while time.monotonic() < end and _ask(noted):
        time.sleep(PAUSE)
    drop_note(settings, noted.process)
    return True


def _browse(address: str) -> bool:
    import webbrowser  # finds the person's own browser

    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
