"""Workspaces full of comments, made up: what the measurements of bench.comments run on."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import innermost, symbols
from postil.comments.anchoring.marker import make_marker
from postil.comments.clock import new_id
from postil.comments.model import NewMarker
from postil.comments.sidecar.json_edit import JsonObject, new_document
from postil.workspace.digest import blob_id
from postil.workspace.paths import RelativePath
from tests.comments.workspaces import Comments, workspace, write

PER_FILE = 200
COMMON = """
a to of and is in for this that with be on as if it not should from are by we when use an or can only value function
return because cache request response user token session buffer error handler retry timeout database query index lock
thread parse string number null check hash config option default fallback legacy remove later once migration done slow
fast loop branch merge commit file path name line test case mock
""".split()  # noqa: SIM905 - one word a line would fill pages
RARE = [
    "rate limiting",
    "security",
    "vulnerable",
    "authentication",
    "Redis",
    "MAX_SIZE",
    "API_KEY",
    "Rate Limit",
    "103-22",
]
HEADS = ["", "", "", "", "TODO: ", "FIXME: ", "NOTE: ", "QUESTION: "]


def texts(count: int) -> Iterator[str]:
    """Comments of a hundred characters or so; six of ten have a `the`, one of two hundred a rare word."""
    chance = random.Random(4)
    pool = chance.choices(COMMON, k=100_000)
    for number in range(count):
        start = chance.randrange(len(pool) - 40)
        words: list[str] = [*pool[start : start + chance.randrange(8, 28)]]
        if chance.random() < 0.6:
            words.insert(chance.randrange(len(words)), "the")
        if number % 200 == 0:
            words.insert(1, chance.choice(RARE))
        if number % 20 == 0:
            words.append("\nand a second line")
        yield HEADS[number % len(HEADS)] + " ".join(words)


def many(root: Path, count: int) -> None:
    """A workspace with so many comments, 200 to a file, and nothing changed since they were made."""
    workspace(root)
    source = "".join(f"value_{number} = {number}\n" for number in range(PER_FILE))
    blob = blob_id(source.encode())
    said = texts(count)
    for file in range(count // PER_FILE):
        name = f"package{file % 50}/module{file}.py"
        markers: list[JsonObject] = []
        held: list[JsonObject] = []
        for line in range(1, PER_FILE + 1):
            number = file * PER_FILE + line
            made = f"2026-0{1 + number % 9}-{1 + number % 28:02d}T{number % 24:02d}:{number % 60:02d}:00.000Z"
            id_, marker = f"c_{number:019d}", f"gm_{number:019d}"
            kept = {
                "lineHash": "",
                "lineText": f"value_{line - 1} = {line - 1}",
                "prevLineText": "",
                "nextLineText": "",
            }
            own = {"v": 1, "blob": blob, "line": line}
            markers.append(
                {"id": marker, "line": line, "commentIds": [id_], **kept, "lastVerified": made, "x-anchor": own}
            )
            times = {"created": made, "updated": made, "ghostMarkerId": marker}
            held.append({"id": id_, "line": line, "text": next(said), "author": "ai", **times, "tag": "NOTE"})
        write(root, name, source)
        file_of = {"file": name, "version": "2.1.0", "ghostMarkers": markers, "comments": held}
        write(root, f"{name}.comments", msgspec.json.encode(file_of))


def module(number: int, *, edited: bool = False, steps: int = 60) -> str:
    """A file of 480 lines; edited, some of its functions changed, some are new and one is gone."""
    rows: list[str] = []
    for step in range(steps):
        if edited and step == 20:
            continue
        extra = " + extra" if edited and step % 7 == 0 else ""
        rows += [f"def step_{number}_{step}(value, other):", f'    """Step {step} of {number}."""']
        rows += [f"    total = value * {step} + other{extra}", f"    if total > {number}:"]
        rows += [f"        return total - {step}", f"    return helper_{step}(total)", "", ""]
        if edited and step in (3, 30):
            rows += [f"def inserted_{number}_{step}():", f"    return {number + step}", "", ""]
    return "\n".join(rows) + "\n"


def rewrite(text: str, number: int) -> str:
    """The same file years later: of its functions a third is gone or elsewhere, a third renamed, most lines edited."""
    chance = random.Random(number)
    pieces = [f"def {each}" for each in text.split("def ")[1:]]
    kept: list[str] = []
    for piece in pieces:
        if chance.random() < 0.15:
            continue
        if chance.random() < 0.3:
            piece = piece.replace("step_", "run_", 1).replace("value", "amount")
        if chance.random() < 0.6:
            piece = piece.replace("total = ", "result = ").replace("other", "rest, strict=True")
        if chance.random() < 0.3:
            piece = piece.replace("    if total", "    log(total)\n    if not total")
        kept.insert(chance.randrange(len(kept) + 1) if chance.random() < 0.15 else len(kept), piece)
    return "import logging\n\n\n" + "".join(kept)


def commented(comments: Comments, name: str, number: int, count: int) -> bytes:
    """A sidecar with comments all over its source."""
    source = comments.tree.source(RelativePath(name))
    named = symbols(source.text, language_of(name))
    lines = [line for line, text in enumerate(source.lines, 1) if text.strip()]
    markers: list[NewMarker] = []
    held: list[JsonObject] = []
    made = "2026-01-01T00:00:00.000Z"
    for line in sorted(random.Random(number).sample(lines, count)):
        id_ = f"c_{number}_{line}"
        marker = replace(
            make_marker(source, innermost(named, line), line, name=new_id("gm_"), now=made), commentIds=(id_,)
        )
        markers.append(marker)
        times = {"created": made, "updated": made, "ghostMarkerId": marker.id}
        held.append({"id": id_, "line": line, "text": f"on line {line}", "author": "ai", **times})
    return new_document({"file": name, "version": "2.1.0", "ghostMarkers": markers, "comments": held})
