"""What the Comments part costs: adding by many processes at once, and following code through a large pull.

`python -m bench.comments` prints it alone.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report import Goal, goal_table
from bench.server import ROOT
from postil.anchor.languages import language_of
from postil.anchor.symbols import symbols
from postil.comments.anchoring import marker_for
from postil.comments.jsontext import JsonObject, new_document
from postil.comments.service import Comments
from postil.comments.sidecar import Sidecar
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import commit, sidecar, workspace, write

PYTHON = str(ROOT / ".venv" / "bin" / "python")
WRITERS, EACH = 8, 1000
FILES, COMMENTS = 500, 100
WRITER = """
import sys
from postil.comments.service import Comments
comments = Comments(sys.argv[1])
for number in range(int(sys.argv[2])):
    print(comments.add("a.py", number % 100 + 1, f"{sys.argv[3]}-{number}", "NOTE").commentId)
"""


def added_a_second(root: Path) -> float:
    """Comments a second that processes add to one file together; every one of them is in it afterwards."""
    workspace(root, **{"a.py": "".join(f"value_{n} = {n}\n" for n in range(100))})
    begun = time.perf_counter()
    writers = [
        subprocess.Popen(
            [PYTHON, "-c", WRITER, str(root), str(EACH), str(number)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for number in range(WRITERS)
    ]
    said = {line for writer in writers for line in writer.communicate()[0].split()}
    seconds = time.perf_counter() - begun
    stored = {each.id for each in Sidecar("a.py", sidecar(root, "a.py")).comments}
    if said != stored or len(said) != WRITERS * EACH:
        raise RuntimeError(f"{len(said)} comments were acknowledged and {len(stored)} are stored")
    return len(said) / seconds


def pulled(root: Path) -> float:
    """Seconds until every comment has followed its code through a commit that changed every file."""
    names = [f"package{number % 20}/module{number}.py" for number in range(FILES)]
    comments = workspace(root, **{name: module(number) for number, name in enumerate(names)})
    for number, name in enumerate(names):
        write(root, f"{name}.comments", commented(comments, name, number))
    commit(root, "comments")
    comments.overview.refresh()
    for number, name in enumerate(names):
        write(root, name, module(number, edited=True))
    commit(root, "pull")
    begun = time.perf_counter()
    comments.overview.refresh()
    seconds = time.perf_counter() - begun
    if comments.overview.index.counts()["open"] != FILES * COMMENTS:
        raise RuntimeError("comments were lost")
    return seconds


def module(number: int, *, edited: bool = False) -> str:
    """A file of 480 lines; edited, some of its functions changed, some are new and one is gone."""
    rows: list[str] = []
    for step in range(60):
        if edited and step == 20:
            continue
        extra = " + extra" if edited and step % 7 == 0 else ""
        rows += [f"def step_{number}_{step}(value, other):", f'    """Step {step} of {number}."""']
        rows += [f"    total = value * {step} + other{extra}", f"    if total > {number}:"]
        rows += [f"        return total - {step}", f"    return helper_{step}(total)", "", ""]
        if edited and step in (3, 30):
            rows += [f"def inserted_{number}_{step}():", f"    return {number + step}", "", ""]
    return "\n".join(rows) + "\n"


def commented(comments: Comments, name: str, number: int) -> bytes:
    """A sidecar with comments all over its source."""
    source = comments.ground.source(RelativePath(name))
    named = symbols(source.text, language_of(name))
    lines = [line for line, text in enumerate(source.lines, 1) if text.strip()]
    markers: list[JsonObject] = []
    held: list[JsonObject] = []
    made = "2026-01-01T00:00:00.000Z"
    for line in sorted(random.Random(number).sample(lines, COMMENTS)):
        id_ = f"c_{number}_{line}"
        marker = {**marker_for(source, named, line), "commentIds": [id_]}
        markers.append(marker)
        times = {"created": made, "updated": made, "ghostMarkerId": marker["id"]}
        held.append({"id": id_, "line": line, "text": f"on line {line}", "author": "ai", **times})
    return new_document({"file": name, "version": "2.1.0", "ghostMarkers": markers, "comments": held})


def comments() -> list[Goal]:
    """The goals of this part."""
    with tempfile.TemporaryDirectory() as folder:
        rate = added_a_second(Path(folder, "adding"))
        seconds = pulled(Path(folder, "pulled"))
    return [
        Goal(
            f"Comments: {WRITERS} processes add {EACH:,} each to one file, a second",
            "≥ 150",
            f"{rate:.0f}",
            rate >= 150,
        ),
        Goal(
            f"Comments: following {FILES * COMMENTS:,} comments through a pull of {FILES} files, s",
            "≤ 10",
            f"{seconds:.1f}",
            seconds <= 10,
        ),
    ]


if __name__ == "__main__":
    found = comments()
    print("\n".join(goal_table(found)))
    sys.exit(0 if all(goal.met for goal in found) else 1)
