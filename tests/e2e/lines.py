"""Random lines of random diffs, pointed at in real lazygit: each remark has to land on the line under the cursor.

Added, deleted and context lines of a tracked file, and lines of one that git does not know; among them wide characters,
frames, tabs, empty lines and many that are equal.
"""

import random
import subprocess
import time
from pathlib import Path

from postil.inbox.lazygit.screen import find_panels, parse_screen
from tests.e2e.lazygit import Lazygit, open_lazygit
from tests.inbox.people import Person, git

LONG = "# " + "long words " * 8
"""Fits the panel: lazygit moves by rows, so a line over two of them would be counted twice here."""
PIECES = ("}", "", "\treturn x", "│ frame │", "日本語 = 漢字", "x = 1", LONG, "+++ plus", "--- minus")
Truth = dict[str, tuple[str, str, str]]
"""The words of a remark: its file, its side and its line."""


def remark_on_random_lines(folder: Path, version: str, count: int, seed: int = 1) -> tuple[int, list[str]]:
    """Returns how many of `count` remarks landed on their line, and what became of the others."""
    chance = random.Random(seed)  # not a secret
    person = Person(folder)
    _make_diff(person, chance)
    truth: Truth = {}
    with open_lazygit(person, version) as lazygit:
        for file in ("code.py", "fresh.py"):
            rows = _read_rows(person, file)
            _open_file(lazygit, file)
            _remark(lazygit, chance, file, rows, count // 2, truth)
            lazygit.press_until("Escape", "Commit: c")
    landed = {message["comment"]: message for message in person.messages()}
    wrong: list[str] = []
    for words, (file, side, line) in truth.items():
        found = landed.get(words, {})
        at = (found.get("file"), found.get("side", "new"), found.get("line"))
        if at != (file, side, line):
            wrong.append(f"{words}: meant {file} {side} {line}, landed on {at}")
    return len(truth) - len(wrong), wrong


def _make_diff(person: Person, chance: random.Random) -> None:
    old = [chance.choice(PIECES) for _ in range(90)]
    old[::7] = [f"first {number} {line}" for number, line in enumerate(old[::7])]
    new = [line for line in old if chance.random() > 0.2]
    for _ in range(25):
        new.insert(chance.randrange(len(new)), chance.choice((*PIECES, f"new {chance.random()}")))
    file = person.root / "code.py"
    file.write_text("\n".join(old) + "\n")
    git(person.root, "add", "-A")
    git(person.root, "commit", "-qm", "old")
    file.write_text("\n".join(new) + "\n")
    fresh = [chance.choice((*PIECES, f"fresh {number}")) for number in range(60)]
    (person.root / "fresh.py").write_text("\n".join(fresh) + "\n")


def _read_rows(person: Person, file: str) -> list[tuple[str, str, str]]:
    """The rows of the diff as lazygit shows them: text, side and line (empty for a header)."""
    words = ["diff", file] if file == "code.py" else ["diff", "--no-index", "/dev/null", file]
    shown = subprocess.run(["git", *words], cwd=person.root, capture_output=True, text=True, timeout=30).stdout
    rows: list[tuple[str, str, str]] = []
    old = new = 0
    for text in shown.removesuffix("\n").split("\n"):
        if text.startswith("@@ "):
            removed, added = text.split(" ")[1:3]
            old, new = int(removed[1:].split(",")[0]), int(added[1:].split(",")[0])
            rows.append((text, "", ""))
        elif not new and not old:
            rows.append((text, "", ""))
        else:
            rows.append((text, "old", str(old)) if text.startswith("-") else (text, "new", str(new)))
            old, new = old + (not text.startswith("+")), new + (not text.startswith("-"))
    return rows


def _open_file(lazygit: Lazygit, file: str) -> None:
    lazygit.see("code.py", "fresh.py")
    lazygit.press("2")
    lazygit.press("<")
    if file == "fresh.py":
        lazygit.press("Down")
        lazygit.see("new file mode")
    lazygit.press_until("Enter", "Stage: <space> | Discard: d" if lazygit.version < (0, 66) else "Discard: d")
    lazygit.select_lines()


def _remark(
    lazygit: Lazygit, chance: random.Random, file: str, rows: list[tuple[str, str, str]], count: int, truth: Truth
) -> None:
    lines = [number for number, (_, side, _) in enumerate(rows) if side]
    for _ in range(count):
        wanted = chance.choice(lines)
        lazygit.press("<")
        lazygit.press_times("Down", wanted - _find_top(lazygit, rows))
        lazygit.wait_for(lambda: _is_selected(lazygit, rows[wanted][0]))  # noqa: B023 # asked at once
        words = f"remark {len(truth) + 1}"
        lazygit.remark("", words, len(truth) + 1)
        truth[words] = (file, *rows[wanted][1:])


def _find_top(lazygit: Lazygit, rows: list[tuple[str, str, str]]) -> int:
    """The row of the diff that is selected after going to the top; the first rows are all different."""
    texts = ["".join(text.split()) for text, _, _ in rows]
    return lazygit.wait_for(lambda: _selected(_settled(lazygit), texts))


def _settled(lazygit: Lazygit) -> str:
    """The screen, when two looks at it show the same: keys may still be at work."""
    before, now = "", lazygit.coloured_screen()
    while now != before:
        time.sleep(0.1)
        before, now = now, lazygit.coloured_screen()
    return now


def _is_selected(lazygit: Lazygit, text: str) -> int | None:
    wanted = "".join(text.split())
    panels = find_panels(parse_screen(_settled(lazygit)))
    return 1 if any("".join(panel.rows[panel.first].split()) == wanted for panel in panels) else None


def _selected(screen: str, texts: list[str]) -> int | None:
    for panel in find_panels(parse_screen(screen)):
        shown = "".join(panel.rows[panel.first].split())
        if shown in texts[:8] and panel.first <= 8:
            return texts.index(shown)
    return None
