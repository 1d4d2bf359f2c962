"""What the Comments part costs: adding by many at once, following code through a large pull, searching, exporting.

`python -m bench.comments` prints it alone. Times are CPU seconds unless a row says wall, so that other work on the
machine does not count.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import msgspec

from bench.commented import commented, many, module, rewrite
from bench.report import Effort, Goal, goal_table
from bench.server import ROOT, Server, started
from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax.languages import grammar
from postil.anchor.syntax.symbols import symbols
from postil.comments.search import text_file
from postil.comments.search.patterns import END, GAP, Pattern
from postil.comments.search.regex import Meter, compile_linear, spans
from postil.comments.sidecar.document import Sidecar
from postil.core.startup import end_start
from tests.comments.workspaces import Comments, commit, sidecar, workspace, write

PYTHON = str(ROOT / ".venv" / "bin" / "python")
WRITERS, EACH, PIPELINED = 8, 1000, 20
FILES, COMMENTS = 500, 200
QUERIES = (
    "rate limiting",
    "security|vulnerab|authenti",
    "(?i)Rate Limit",
    "TODO.*limit.*Redis",
    r"\b[A-Z]{3,}_[A-Z]+\b",
    "^FIXME: [Tt]he",
    "the",
    r"\d{3,}-\d{2,}",
)
HOSTILE = ("(a+)+$", "(x+x+)+y", "(.*)*b", "(?:a|a?)+$")
WRITER = """
import sys
from postil.comments.operations.contract import ContractTools
from postil.comments.part import CommentsContext
comments = ContractTools(CommentsContext(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    print(comments.add("a.py", number % 100 + 1, f"{sys.argv[3]}-{number}", "NOTE").commentId)
"""
IN_FOLDER = "import os, sys; os.chdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
FIRST_SEARCH = """
import sys
from postil.comments.operations.contract import ContractTools
from postil.comments.part import CommentsContext
print(ContractTools(CommentsContext(sys.argv[1])).search("rate limiting").totalResults)
"""
EXPORT = """
import re, sys
from postil.comments.operations.contract import ContractTools
from postil.comments.part import CommentsContext
ContractTools(CommentsContext(sys.argv[1])).export("parquet", output=sys.argv[2])
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])  # getrusage would count its parent's, too
"""
LIST = """
import re, sys
from postil.comments.operations.by_id import CommentsById
from postil.comments.operations.resources import CommentResources
from postil.comments.part import CommentsContext
context = CommentsContext(sys.argv[1])
assert CommentsById(context).list_comments().for_person()
assert CommentResources(context).read_all().next
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def adding(root: Path) -> Iterator[Goal]:
    """Comments a second that processes add to one file together; every one of them is in it afterwards."""
    workspace(root, **{"a.py": "".join(f"value_{n} = {n}\n" for n in range(100))})
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    writers = [
        subprocess.Popen([PYTHON, "-c", WRITER, str(root), str(EACH), str(number)], **piped)
        for number in range(WRITERS)
    ]
    for writer in writers:
        assert writer.stdout and writer.stdout.readline() == "ready\n"  # what starting them takes is no adding
    begun = time.perf_counter()
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = {line for writer in writers for line in writer.communicate()[0].split()}
    rate = WRITERS * EACH / (time.perf_counter() - begun)
    stored = {each.id for each in Sidecar("a.py", sidecar(root, "a.py")).comments}
    whole = len(said & stored) if said == stored else 0
    what = f"Comments: {WRITERS} processes add {EACH:,} each to one file"
    yield Goal(f"{what}, distinct and stored", f"= {WRITERS * EACH}", f"{whole}", whole == WRITERS * EACH)
    yield Goal(f"{what}, a second of wall time", "≥ 150", f"{rate:.0f} ({_load()})", rate >= 150)
    limit = rate / _replaces_a_second(root, len(sidecar(root, "a.py")) // 2)
    yield Goal(f"{what}, times the disk's durable replaces of half that file", "≥ 1", f"{limit:.1f}", limit >= 1)


def _replaces_a_second(root: Path, size: int) -> float:
    from postil.workspace.files import atomic_write
    from postil.workspace.paths import RelativePath

    content, rounds = b"x" * size, 40
    begun = time.perf_counter()
    for _ in range(rounds):
        atomic_write(str(root), RelativePath("replaced"), content)
    return rounds / (time.perf_counter() - begun)


def pipelined(root: Path) -> Goal:
    """Calls sent at once to one server, without waiting for answers."""
    workspace(root, **{"a.py": "".join(f"value_{n} = {n}\n" for n in range(100))})
    script = str(ROOT / ".venv" / "bin" / "paired-comments-mcp-server")
    with started(Server("comments", (PYTHON, "-c", IN_FOLDER, str(root), script))) as process:
        process.handshake()
        calls = [
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {
                    "name": "add_comment",
                    "arguments": {"filePath": "a.py", "line": number, "text": f"comment {number}", "tag": "NOTE"},
                },
            }
            for number in range(1, PIPELINED + 1)
        ]
        process.send(*calls)
        answered = {msgspec.json.encode(process.receive()["result"]) for _ in calls}
    stored = {each.id for each in Sidecar("a.py", sidecar(root, "a.py")).comments}
    whole = min(len(answered), len(stored))
    what = f"Comments: {PIPELINED} pipelined add_comment, distinct ids and stored"
    return Goal(what, f"= {PIPELINED}", f"{whole}", whole == PIPELINED)


def pulled(root: Path) -> Iterator[Goal]:
    """Until every comment has followed its code through a commit that changed every file; then nothing changes."""
    names = [f"package{number % 20}/module{number}.py" for number in range(FILES)]
    comments = workspace(root, **{name: module(number) for number, name in enumerate(names)})
    for number, name in enumerate(names):
        write(root, f"{name}.comments", commented(comments, name, number, COMMENTS))
    commit(root, "comments")
    comments.overview.refresh()
    for number, name in enumerate(names):
        write(root, name, module(number, edited=True))
    commit(root, "pull")
    wall, cpu = _spent(comments.overview.refresh)
    yield _compare_with_git(root, names, cpu)
    count = comments.overview.index.counts()
    if count["open"] != FILES * COMMENTS or count["exact"] + count["moved"] < 0.9 * FILES * COMMENTS:
        raise RuntimeError(f"comments were lost: {count}")
    cores = os.cpu_count() or 1
    what = f"Comments: following {FILES * COMMENTS:,} comments through a pull of {FILES} files"
    yield Goal(f"{what}, s of wall time", "≤ 10", f"{wall:.1f} ({_load()})", wall <= 10)
    yield Goal(f"{what}, s of CPU on each of {cores} cores", "≤ 10", f"{cpu / cores:.1f}", cpu / cores <= 10)
    fresh = Comments(str(root))
    fresh.overview.refresh()  # opens the cache
    walked = min(_spent(lambda: _walked(root))[1] for _ in range(5))
    again = min(_spent(fresh.overview._look)[1] for _ in range(5))
    ratio = again / walked
    what = f"Comments: looking at {FILES} unchanged files, times a bare walk with two stats each"
    yield Goal(what, "≤ 4", f"{ratio:.1f} ({again * 1e6 / FILES:.0f} µs a file)", ratio <= 4)


def _compare_with_git(root: Path, names: list[str], cpu: float) -> Goal:
    """The first look after a checkout, beside what nobody can do without: git's diff and a parse of both sides."""
    from tree_sitter import Parser

    asked = ["git", "-C", str(root), "diff", "HEAD~1", "HEAD"]
    compared = _spent(lambda: subprocess.run(asked, check=True, stdout=subprocess.DEVNULL))[1]
    parser = Parser(grammar("python"))
    versions = [module(number, edited=edited).encode() for number in range(len(names)) for edited in (False, True)]
    parsed = _spent(lambda: [parser.parse(version) for version in versions])[1]
    allowed = 2 * (compared + parsed) + 0.001 * len(names) * COMMENTS
    what = "Comments: first look after a checkout, of twice git's diff and a parse of both sides and 1 ms a comment"
    return Goal(what, "≤ 1", f"{cpu / allowed:.2f} ({cpu:.1f} s of CPU)", cpu <= allowed)


def _walked(root: Path) -> int:
    found = 0
    for folder, folders, files in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        for name in sorted(files):
            if name.endswith(".comments"):
                os.lstat(os.path.join(folder, name))
                os.lstat(os.path.join(folder, name.removesuffix(".comments")))
                found += 1
    return found


def followed() -> Iterator[Goal]:
    """Twenty comments on a file of 588 lines, between two versions of it."""
    rest = "".join(f"last_{number} = {number}\n" for number in range(4))
    pairs = [(module(n, steps=73) + rest, module(n, edited=True, steps=73) + rest) for n in range(20)]
    asked = [[Span(line) for line in sorted(random.Random(n).sample(range(1, 589), 20))] for n in range(20)]
    relocate_all(*_versions(pairs[0]), asked[0])  # imports the engine
    end_start()  # garbage is looked for as a server that has started does
    spent = [_spent(lambda n=n: relocate_all(*_versions(pairs[n]), asked[n]))[1] / 20 for n in range(1, 20)]
    what = "Comments: 20 comments on 588 lines of which ten functions changed, ms each (median; least)"
    yield Goal(what, "≤ 1", f"{median(spent) * 1e3:.2f}; {min(spent) * 1e3:.2f}", median(spent) <= 0.001)
    later = [(old, rewrite(old, n)) for n, (old, _) in enumerate(pairs)]
    spent = [_spent(lambda n=n: relocate_all(*_versions(later[n]), asked[n]))[1] / 20 for n in range(1, 20)]
    what = "Comments: 20 comments on 588 lines most of which were rewritten, ms each (median; least)"
    yield Goal(what, "≤ 1", f"{median(spent) * 1e3:.2f}; {min(spent) * 1e3:.2f}", median(spent) <= 0.001)
    from tree_sitter import Parser

    parser = Parser(grammar("python"))
    encoded = [pair[1].encode() for pair in pairs]
    bare = min(_spent(lambda n=n: parser.parse(encoded[n]))[1] for n in range(20))
    named = min(_spent(lambda n=n: symbols(pairs[n][1], "python"))[1] for n in range(20))
    what = "Comments: parsing a file and naming what it holds, times tree-sitter's own parse"
    yield Goal(what, "≤ 2", f"{named / bare:.2f} ({named * 1e3:.1f} ms)", named / bare <= 2)


def _versions(pair: tuple[str, str]) -> tuple[Source, Source]:
    return Source(pair[0], "a.py"), Source(pair[1], "a.py")


def searched(root: Path, count: int) -> Iterator[Goal]:
    """The design's queries over a million comments, in a process that has searched before and in a new one."""
    many(root, count)
    comments = Comments(str(root))
    comments.overview.refresh()
    comments.search("nothing of it")
    slowest, worst, total, bare = 0.0, "", 0.0, 0.0
    for query in QUERIES:
        cost = min(_spent(lambda query=query: comments.search(query))[1] for _ in range(3))
        total += cost
        bare += min(_spent(lambda query=query: _scanned(comments, query))[1] for _ in range(2))
        if cost > slowest:
            slowest, worst = cost, query
    size = f"{count:,} comments"
    yield Goal(
        f"Comments: the slowest of the design's {len(QUERIES)} searches over {size}, ms",
        "≤ 200",
        f"{slowest * 1e3:.0f} (`{worst.replace('|', '&#124;')}`)",
        slowest <= 0.2,
    )
    ratio = total / bare
    what = f"Comments: all of them, times RE2's own pass over the same bytes ({bare / len(QUERIES) * 1e3:.0f} ms)"
    yield Goal(what, "≤ 1.5", f"{ratio:.2f}", ratio <= 1.5)
    growth, hardest = max((_growth(comments, query), query) for query in HOSTILE)
    what = f"Comments: the hardest of {len(HOSTILE)} hostile patterns, {size} beside a tenth of them"
    yield Goal(what, "≤ 15", f"{growth:.1f} (`{hardest.replace('|', '&#124;')}`)", growth <= 15)
    first = min(_child(FIRST_SEARCH, str(root)) for _ in range(3))
    nothing = min(_child("pass") for _ in range(3))
    what = f"Comments: the first search of a process over {size}, its start included, s"
    yield Goal(what, "≤ 1", f"{first:.2f} ({first / nothing:.0f} times `python -c pass`)", first <= 1)
    done = subprocess.run([PYTHON, "-c", EXPORT, str(root), str(root / "out")], stdout=subprocess.PIPE, check=True)
    memory = int(done.stdout) / 1024
    yield Goal(f"Comments: Parquet of {size}, peak memory, MB", "≤ 300", f"{memory:.0f}", memory <= 300)
    done = subprocess.run([PYTHON, "-c", LIST, str(root)], stdout=subprocess.PIPE, check=True)
    memory = int(done.stdout) / 1024
    yield Goal(f"Comments: a list of {size}, peak memory, MB", "≤ 150", f"{memory:.0f}", memory <= 150)


def _growth(comments: Comments, query: str) -> float:
    """How many times longer a pattern takes over all texts than over a tenth of them."""
    whole = comments.overview.index._texts[text_file.COMMENTS]._file
    ends = list(whole.ends[: len(whole) // 10])
    part = text_file.Run(whole.run[: ends[-1] + 2], list(whole.numbers[: len(ends)]), ends)
    return _spent(lambda: whole.search(Pattern(query)))[1] / _spent(lambda: part.search(Pattern(query)))[1]


def _scanned(comments: Comments, query: str) -> int:
    """How many matches RE2 finds in the bytes that are searched, and nothing made of them."""
    run = comments.overview.index._texts[text_file.COMMENTS]._file.run
    Pattern(query)
    first = spans(compile_linear(f"(?m:{query})", ignore_case=True), Meter(query), END)
    found = at = 0
    while True:
        start, stop = first(run, at)
        if start < 0:
            return found
        found += 1
        at = run.find(GAP, stop) + 1 or len(run)


def _load() -> str:
    """What else the machine did: wall time means little where it is many times the cores."""
    return f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall time and of CPU, children included, that some work took."""
    wall, cpu = time.perf_counter(), _cpu()
    work()
    return time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _child(program: str, *arguments: str) -> float:
    """Seconds of CPU of a whole Python process."""
    command = [PYTHON, "-c", program, *arguments]
    return _spent(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True))[1]


def comments(effort: Effort) -> Iterator[Goal]:
    """The goals of this part."""
    with tempfile.TemporaryDirectory() as folder:
        yield from adding(Path(folder, "adding"))
        yield pipelined(Path(folder, "pipelined"))
        yield from pulled(Path(folder, "pulled"))
        yield from followed()
        if effort.comments:
            yield from searched(Path(folder, "searched"), effort.comments)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.comments", description=__doc__)
    parser.add_argument("--comments", type=int, default=Effort().comments, help="how many are searched; 0 skips it")
    options = parser.parse_args()
    found: list[Goal] = []
    for goal in comments(Effort(comments=options.comments)):
        print(goal_table([goal])[-1], flush=True)
        found.append(goal)
    return 0 if all(goal.met for goal in found) else 1


if __name__ == "__main__":
    sys.exit(main())
