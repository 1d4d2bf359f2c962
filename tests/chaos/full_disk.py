"""A real disk that is full: a small one is mounted, filled to the last page, and written to all the while.

Mounting needs a namespace of its own (`unshare`), which not every machine allows; where not, that is said.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from tests.surfaces.programs import BIN

SIZE = 3 << 20
ROOM = (400_000, 200_000, 120_000, 80_000, 60_000, 40_000, 24_000, 16_000, 8_000, 4_000, 0)
"""Bytes that are left free, round by round."""
KINDS: dict[str, tuple[Callable[[str, int], list[str]], list[str]]] = {
    "comment": (
        lambda text, at: ["comments", "add", "app.py", str(1 + at % 90), text],
        ["comments", "list", "--json"],
    ),
    "issue": (lambda text, _: ["issue", "create", text], ["issue", "list", "--json", "--limit", "200"]),
    "remark": (
        lambda text, at: ["inbox", "send", "-f", "app.py", "-l", str(1 + at % 90), "-c", text],
        ["inbox", "list", "--json"],
    ),
}


class Filled(NamedTuple):
    """What a full disk did."""

    tried: int = 0
    acknowledged: int = 0
    refused: int = 0
    lost: int = 0
    unclear: int = 0
    """Refusals that did not say that there is no room."""
    unreadable: int = 0


def fill_disk(folder: Path, seed: int) -> Filled | None:
    """Run the campaign on a small disk; None where none can be mounted."""
    if shutil.which("unshare") is None:
        return None
    inside = f'mount -t tmpfs -o size={SIZE} tmpfs "$1" && exec "$2" -m tests.chaos.full_disk "$1" "$3"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside, "sh", str(folder)]
    done = subprocess.run([*command, sys.executable, str(seed)], capture_output=True, text=True, timeout=900)
    if not done.stdout:
        return None
    return Filled(**json.loads(done.stdout))


def _run(folder: Path, seed: int) -> Filled:
    chance, seen = random.Random(seed), Counter[str]()
    repository, ballast = folder / "repository", folder / "ballast"
    environ = {**os.environ, "HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    environ |= {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        environ.pop(name, None)

    def postil(arguments: list[str]) -> subprocess.CompletedProcess[str]:
        command = [str(BIN / "postil"), *arguments]
        return subprocess.run(command, cwd=repository, env=environ, capture_output=True, text=True, timeout=120)

    subprocess.run(["git", "init", "-q", str(repository)], check=True, env=environ)
    (repository / "app.py").write_text("".join(f"def f{at}():\n    return {at}\n\n" for at in range(30)))
    acknowledged: dict[str, list[str]] = {kind: [] for kind in KINDS}
    with ballast.open("wb", buffering=0) as filling:
        for free in (SIZE, *ROOM):
            _fill(filling, folder, free)
            for kind in chance.sample(list(KINDS) * 2, 2 * len(KINDS)):
                text = f"{kind} number {seen['tried']} " + "x" * chance.randint(0, 400)
                done = postil(KINDS[kind][0](text, seen["tried"]))
                seen["tried"] += 1
                if done.returncode == 0:
                    acknowledged[kind].append(text)
                else:
                    seen["refused"] += 1
                    seen["unclear"] += "space" not in done.stderr
        for _, look in KINDS.values():
            seen["unreadable"] += postil(look).returncode != 0
    ballast.unlink()
    for kind, texts in acknowledged.items():
        shown = postil(KINDS[kind][1]).stdout
        seen["acknowledged"] += len(texts)
        seen["lost"] += sum(text.strip() not in shown for text in texts)
    for check in (["comments", "check"], ["issue", "verify"]):
        seen["unreadable"] += postil(check).returncode != 0
    return Filled(**seen)


def _fill(filling: FileIO, folder: Path, free: int) -> None:
    while (room := os.statvfs(folder)).f_bavail * room.f_frsize > free:
        try:
            filling.write(b"z" * 4096)
        except OSError:
            return


if __name__ == "__main__":
    print(json.dumps(_run(Path(sys.argv[1]), int(sys.argv[2]))._asdict()))
