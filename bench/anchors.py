"""How well anchoring follows code that was laid out anew, or moved to another file: edits made up here, truth known.

`python -m bench.anchors [FOLDER...]` prints it alone. Sources are taken from the folders (this checkout when none is
named; for Go what the toolchain brings). Formatters are those on the PATH: ruff, black, prettier, gofmt; one that is
not there is said to be missing.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from pathlib import Path

from bench.report import Effort, Goal, goal_table
from bench.server import ROOT
from postil.anchor.model import Source, Span
from postil.anchor.other_files import OtherFiles
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax.languages import language_of, parse_everything_here
from postil.anchor.syntax.symbols import symbols
from scripts.usage import show_usage

FILES, LONGEST, SHORTEST = 40, 1500, 20  # files of a language, and their lines
MOVES = 60  # functions moved, each way
WORD = re.compile(r"\w+")
SEED = 20_261_115
# What a formatter is fed with, and its widths or other ways.
FORMATTERS = {
    "ruff": (".py", [["--line-length", "60"], ["--line-length", "120"]]),
    "black": (".py", [["-q", "-l", "60", "-"], ["-q", "-l", "120", "-"]]),
    "prettier": (".js", [["--print-width", "60"], ["--print-width", "140", "--tab-width", "4"]]),
    "gofmt": (".go", [[]]),
}

Truth = list[tuple[int, int]]  # old line, new line


def anchors(effort: Effort) -> Iterator[Goal]:
    """The goals on the sources of this checkout."""
    return measure([ROOT])


def measure(folders: list[Path]) -> Iterator[Goal]:
    """The goals of layout and moving."""
    for tool, (suffix, ways) in FORMATTERS.items():
        path = shutil.which(tool)
        if path is None:
            yield Goal(f"laid out anew by {tool}", "≥ 99.9 %", f"{tool} is not on the PATH", None)
            continue
        found = files(folders if tool != "gofmt" else [*folders, *go_sources(path)], suffix)
        right = total = 0
        for name, text in found:
            for way in ways:
                for before, after, truth in layouts(tool, path, way, name, text):
                    places = relocate_all(Source(before, name), Source(after, name), [Span(old) for old, _ in truth])
                    total += len(truth)
                    right += sum(
                        each.state != "review" and each.span is not None and each.span.start == new
                        for each, (_, new) in zip(places, truth, strict=True)
                    )
        if total:
            yield at_least(f"laid out anew by {tool}, lines right of {total:,}", right / total, 0.999)
    for what, edited, least in (("pure", 0.0, 0.98), ("a fifth of its lines edited", 0.2, 0.90)):
        right, wrong, total = moves(files(folders, ".py"), edited)
        if total:
            yield at_least(f"function moved to another file, {what}, lines right of {total:,}", right / total, least)
            print(f"moved, {what}: silently wrong {100 * wrong / total:.2f} %", file=sys.stderr)


def at_least(what: str, share: float, least: float) -> Goal:
    return Goal(what, f"≥ {100 * least:.1f} %", f"{100 * share:.2f} %", share >= least)


def files(folders: list[Path], suffix: str) -> list[tuple[str, str]]:
    """Sources of a language, a sample that is always the same."""
    paths = sorted(path for folder in folders for path in folder.rglob(f"*{suffix}") if ".venv" not in path.parts)
    random.Random(SEED).shuffle(paths)
    found: list[tuple[str, str]] = []
    for path in paths:
        if len(found) == FILES or path.is_symlink() or not path.is_file():
            continue
        text = path.read_text("utf-8", "replace")
        if SHORTEST <= text.count("\n") <= LONGEST and max(map(len, text.split("\n"))) < 400:
            found.append((str(len(found)) + "/" + path.name, text))
    return found


def go_sources(gofmt: str) -> list[Path]:
    """The standard library beside the formatter, where there is one."""
    root = Path(gofmt).resolve().parents[1] / "src"
    return [root / "net" / "http", root / "encoding", root / "text"] if root.is_dir() else []


def layouts(tool: str, path: str, way: list[str], name: str, text: str) -> Iterator[tuple[str, str, Truth]]:
    """A text and what a formatter makes of it, with where its lines are then. Nothing when it does not parse."""
    if tool == "gofmt":  # it never rewraps, so it is fed with what was laid out badly
        tidy = run([path], text)
        if tidy is not None:
            untidy, origins = disordered(tidy)
            after = run([path], untidy)
            if after is not None:
                yield untidy, after, followed(tidy, after, origins)
        return
    arguments = {"black": way, "ruff": ["format", "-q", "--isolated", *way, "-"]}
    after = run([path, *arguments.get(tool, ["--stdin-filepath", name, *way])], text)
    if after is not None and after != text:
        yield text, after, by_words(text, after)


def run(command: list[str], text: str) -> str | None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, encoding="utf-8")
    return None if done.returncode else done.stdout


def by_words(before: str, after: str) -> Truth:
    """Each line is where its first word is; formatters change no words, or hardly any."""
    a, b = words(before), words(after)
    found: dict[int, int] = {}
    for at, to, count in SequenceMatcher(
        None, [word for word, _ in a], [word for word, _ in b], False
    ).get_matching_blocks():
        for step in range(count):
            found.setdefault(at + step, b[to + step][1])
    firsts: dict[int, int] = {}
    for place, (_, line) in enumerate(a):
        firsts.setdefault(line, place)
    return [(line, found[place]) for line, place in firsts.items() if place in found]


def words(text: str) -> list[tuple[str, int]]:
    return [(word, line) for line, row in enumerate(text.split("\n"), 1) for word in WORD.findall(row)]


def disordered(text: str) -> tuple[str, list[int]]:
    """Go with its indentation, spacing and blank lines disturbed, and the line each one was."""
    chance = random.Random(SEED)
    rows: list[str] = []
    origins: list[int] = []
    raw = False
    for number, row in enumerate(text.rstrip("\n").split("\n"), 1):
        ticks = row.count("`") % 2 == 1
        if raw or ticks or "`" in row:
            rows.append(row)  # the inside of a raw string is not layout
        elif not row.strip():
            if chance.random() < 0.5:
                raw ^= ticks
                continue
            rows.append(row)
        else:
            code = row.strip()
            plain = '"' not in row and "'" not in row
            rows.append(" " * chance.randrange(9) + (respaced(code, chance) if plain else code))
        origins.append(number)
        raw ^= ticks
    return "\n".join(rows) + "\n", origins


def respaced(row: str, chance: random.Random) -> str:
    """The same tokens with other spaces: comments and operators of two signs stay whole."""
    code, mark, comment = row.partition("//")
    code = re.sub(r" (?=[-+*/%=<>!&|:]+ )|(?<= [-+*/%=<>!&|:]) ", lambda _: chance.choice([" ", "  "]), code)
    code = re.sub(r",\s*", lambda _: chance.choice([",", ", ", " , "]), code)
    return code + mark + comment


def followed(tidy: str, after: str, origins: list[int]) -> Truth:
    """The lines of the tidy text in what the formatter made of the untidy one: the same but for blank ones."""
    a = [(number, row.split()) for number, row in enumerate(tidy.split("\n"), 1) if row.strip()]
    b = [(number, row.split()) for number, row in enumerate(after.split("\n"), 1) if row.strip()]
    if [row for _, row in a] != [row for _, row in b]:
        return []
    now = {old: new for (old, _), (new, _) in zip(a, b, strict=True)}
    return [(line, now[origin]) for line, origin in enumerate(origins, 1) if origin in now]


def moves(sources: list[tuple[str, str]], edited: float) -> tuple[int, int, int]:
    """Functions moved from one file to another: lines right, silently wrong, asked."""
    chance = random.Random(SEED)
    right = wrong = total = 0
    for _ in range(MOVES if len(sources) > 1 else 0):
        (name, text), (target, other) = chance.sample(sources, 2)
        named = symbols(text, language_of(name))
        functions = [each for each in named if each.is_function and 4 <= each.span.last - each.span.start <= 60]
        if not functions:
            continue
        span = chance.choice(functions).span
        rows, there = text.split("\n"), other.split("\n")
        body = [
            mutated(row, chance) if row.strip() and chance.random() < edited else row
            for row in rows[span.start - 1 : span.last]
        ]
        at = chance.choice([place for place, row in enumerate(there) if not row.strip()] or [len(there)])
        new = [*there[:at], *body, *there[at:]]
        left = [*rows[: span.start - 1], *rows[span.last :]]
        others = [
            Source("\n".join(new) if each == target else content, each) for each, content in sources if each != name
        ]
        lines = [line for line in range(span.start, span.last + 1) if len(rows[line - 1].strip()) > 2]
        asked = [Span(line) for line in chance.sample(lines, min(12, len(lines)))]
        found = relocate_all(Source(text, name), Source("\n".join(left), name), asked, elsewhere=OtherFiles(others))
        for each, was in zip(found, asked, strict=True):
            good = each.span is not None and each.path == target and each.span.start == was.start - span.start + at + 1
            total += 1
            right += good and each.state != "review"
            wrong += not good and each.state not in ("review", "orphaned")
    return right, wrong, total


def mutated(row: str, chance: random.Random) -> str:
    """A line with one of its words changed, or something put at its end."""
    found = list(WORD.finditer(row))
    if not found or chance.random() < 0.3:
        return row + "  # changed"
    word = chance.choice(found)
    return row[: word.start()] + chance.choice(["value", "other", word[0] + "_new"]) + row[word.end() :]


def main(report: Callable[[str], None] = print) -> None:
    show_usage(__doc__)
    parse_everything_here()  # there are no workers that would parse large texts
    folders = [Path(each) for each in sys.argv[1:]] or [ROOT]
    report("\n".join(goal_table(list(measure(folders)))))


if __name__ == "__main__":
    main()
