"""The tracker at 10,000 and 100,000 issues: whole processes beside bare Python, the index beside `git cat-file`."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from bench.report import Effort, Goal, at_most, goal_table
from bench.server import ROOT, ended_cpu
from bench.tell import say
from bench.tracker_data import EVENTS, WRITERS, event, filled, git, in_turns, writer_by_writer
from bench.tracker_peer import peer
from postil.tracker import events as ev

PYTHON = str(ROOT / ".venv" / "bin" / "python")
MILE = str(ROOT / ".venv" / "bin" / "git-mile")
LIST = [
    PYTHON,
    MILE,
    "list",
    "issue",
    "--filter",
    'status == "open" and labels contains "area-7"',
    "--sort",
    "updated:desc",
]


SMALL = 10_000


def tracker(effort: Effort) -> Iterator[Goal]:
    """Every goal of the tracker at large."""
    rounds, large = effort.repeats, effort.issues
    small = min(SMALL, large)
    with tempfile.TemporaryDirectory(prefix="postil-bench-") as folder:
        top = Path(folder)
        say(f"tracker: {small} and {large} issues, {EVENTS} events each, by {WRITERS} writers")
        few, many = (filled(top / name, n, writer_by_writer) for name, n in (("few", small), ("many", large)))
        yield from cold(many, filled(top / "turns", large, in_turns), large)
        yield from whole_processes(few, many, rounds)
        yield from refreshing(few, many, rounds)
        yield from peer(top, few, LIST, [PYTHON, MILE, "create", "issue", "One more"], small)
        yield from ordinary_git(top, many, rounds)
        yield from together(top)


def whole_processes(few: Path, many: Path, rounds: int) -> list[Goal]:
    """List and create as processes of their own."""
    say("tracker: list and create")
    nothing = best([PYTHON, "-c", "pass"], many, rounds)
    listed = {where: best(LIST, where, rounds) for where in (few, many)}
    made = {where: best([PYTHON, MILE, "create", "issue", "One more"], where, rounds) for where in (few, many)}
    return [
        at_most(
            "git mile list, a filtered and sorted page of 50: 100k issues beside 10k", listed[many] / listed[few], 1.3
        ),
        at_most("git mile list at 100k issues beside `python -c pass`", listed[many] / nothing, 5),
        at_most(
            "git mile list --json of 50 at 100k issues beside `python -c pass`",
            best([PYTHON, MILE, "list", "issue", "--json"], many, rounds) / nothing,
            5,
        ),
        at_most("git mile create: 100k issues beside 10k", made[many] / made[few], 1.3),
    ]


def cold(many: Path, taking_turns: Path, issues: int) -> list[Goal]:
    """Building the index from nothing, beside git reading the same objects."""
    say("tracker: cold index")
    whole = git(many, "rev-list", "--objects", *refs(many)).split("\n")
    everything = [line.split(" ")[0] for line in whole if line]
    seconds, memory, (all_read, segments_read) = build_and_read(many, everything, needed(many))
    mixed, _, (mixed_read,) = build_and_read(taking_turns, needed(taking_turns))
    return [
        at_most(f"cold index of {issues} issues beside `git cat-file` of their logs", seconds / all_read, 4),
        at_most("the same beside `git cat-file` of the segments alone", seconds / segments_read, 4),
        at_most(
            "the same where eight writers take turns and share a third of the issues",
            mixed / mixed_read,
            4,
        ),
        at_most("cold index: resident memory, MB", memory, 200),
    ]


def build_and_read(where: Path, *asked: list[str]) -> tuple[float, float, list[float]]:
    """CPU and memory of the first list after the index is deleted, and CPU of git reading these objects.

    The best of five each, taken in turns: other work on the machine hits both.
    """
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss)"
    )
    cat = ["git", "cat-file", "--batch", "--buffer"]
    fed = ["".join(f"{oid}\n" for oid in oids).encode() for oids in asked]
    runs: list[tuple[float, float]] = []
    read: list[list[float]] = []
    for _ in range(5):
        shutil.rmtree(where / ".git" / "postil", ignore_errors=True)
        done = subprocess.run([PYTHON, "-c", code, *LIST], cwd=where, capture_output=True, text=True, check=True)
        cpu, rss = done.stdout.split()
        runs.append((float(cpu), int(rss) / 1024))
        read.append([ended_cpu(cat, each, cwd=where) for each in fed])
    return *min(runs), [min(each) for each in zip(*read, strict=True)]


def needed(where: Path) -> list[str]:
    """The objects that building the index reads: the segments and the commits after them."""
    found = [line.split()[2] for ref in refs(where) for line in git(where, "ls-tree", "-r", ref).splitlines()]
    return found + [oid for ref in refs(where) for oid in git(where, "rev-list", "-n", "255", ref).split()]


def refreshing(few: Path, many: Path, rounds: int) -> list[Goal]:
    """Taking in ten events that came with a fetch: CPU of the reader and of the git it asks."""
    say("tracker: incremental refresh")
    code = (
        "import resource as r; from postil.tracker.store import Store\n"
        "from postil.workspace.repository import find_repository\n"
        "used = lambda: sum(sum(r.getrusage(who)[:2]) for who in (r.RUSAGE_SELF, r.RUSAGE_CHILDREN))\n"
        "store = Store(find_repository('.')); before = used(); assert store.refresh(); print(used() - before)"
    )
    cost: dict[Path, float] = {}
    for where in (few, many):
        runs: list[float] = []
        for _ in range(rounds):
            fetched(where, refs(where)[0], 10)
            done = subprocess.run([PYTHON, "-c", code], cwd=where, capture_output=True, text=True, check=True)
            runs.append(float(done.stdout))
        cost[where] = median(runs)
    return [
        at_most("incremental refresh of ten events: 100k issues beside 10k", cost[many] / cost[few], 1.5),
        at_most("incremental refresh of ten events at 100k issues, milliseconds", cost[many] * 1000, 50),
    ]


def fetched(where: Path, ref: str, count: int) -> None:
    """More events in a log, as a fetch brings them."""
    end, clock = (int(word) for word in git(where, "log", "-1", "--format=%s", ref).split()[1::2])
    feed: list[bytes] = []
    for i in range(count):
        made = event(random.Random(i), ev.new_entity_id(), i, 0, ref.rpartition("/")[2], end + 2 + i, clock + 1 + i)
        message = b"postil %d 1 %d\n\n%s\n" % (end + 1 + i, clock + 1 + i, ev.encode(made))
        feed.append(b"commit %s\ncommitter B <b@example.org> 1760000000 +0000\n" % ref.encode())
        feed.append(b"data %d\n%s\n" % (len(message), message))
        if i == 0:
            feed.append(b"from %s^0\n" % ref.encode())
    subprocess.run(["git", "fast-import", "--quiet"], cwd=where, input=b"".join(feed), check=True)


def ordinary_git(top: Path, many: Path, rounds: int) -> list[Goal]:
    """Push and fetch of code, with the issues in both repositories and without them."""
    say("tracker: ordinary push and fetch")
    plain = top / "plain"
    git(top, "init", "--quiet", "--initial-branch=main", str(plain))
    git(plain, "commit", "--quiet", "--allow-empty", "-m", "first")
    for where in (plain, many):
        remote = top / f"{where.name}.git"
        git(top, "init", "--quiet", "--bare", str(remote))
        git(where, "remote", "add", "bench", str(remote))
        git(where, "push", "--quiet", "bench", "main", "refs/postil/*:refs/postil/*")
    cost: dict[str, list[float]] = {"push": [], "fetch": []}
    for i in range(4 * rounds):  # a few milliseconds each: taken in turns, so that other work on the machine hits both
        used: dict[tuple[Path, str], float] = {}
        for where in (plain, many):
            git(where, "commit", "--quiet", "--allow-empty", "-m", f"more {i}")
            used[where, "push"] = ended_cpu(["git", "push", "--quiet", "bench", "main"], cwd=where)
            used[where, "fetch"] = ended_cpu(["git", "fetch", "--quiet", "bench"], cwd=where)
        for verb, ratios in cost.items():
            ratios.append(used[many, verb] / used[plain, verb])
    return [
        at_most(f"an ordinary `git {verb}` with 100k issues beside none", median(ratios), 1.2)
        for verb, ratios in cost.items()
    ]


def together(top: Path) -> list[Goal]:
    """Sixteen pushers and thirty-two local processes at once: what was refused or lost."""
    say("tracker: sixteen pushers, thirty-two local processes")
    remote = top / "shared.git"
    git(top, "init", "--quiet", "--bare", str(remote))
    home = top / "home"  # a remote that is a folder has to be trusted by the person
    home.mkdir()
    (home / ".gitconfig").write_text(f"[postil]\n\ttrusted = {remote.resolve()}\n")
    environ = {**os.environ, "HOME": str(home)}

    def pushing(number: int) -> int:
        where = top / f"pusher{number}"
        git(top, "clone", "--quiet", str(remote), str(where))
        refused = 0
        for i in range(3):
            subprocess.run(
                [PYTHON, MILE, "create", "issue", f"{number}-{i}"], cwd=where, capture_output=True, check=True
            )
            sent = subprocess.run([PYTHON, MILE, "push"], cwd=where, env=environ, capture_output=True, text=True)
            refused += sent.returncode != 0 or "new one" in sent.stdout
        return refused

    with ThreadPoolExecutor(16) as pool:
        refused = sum(pool.map(pushing, range(16)))
    local = top / "local"
    git(top, "init", "--quiet", str(local))

    def mixed(number: int) -> None:
        subprocess.run([PYTHON, MILE, "create", "issue", str(number)], cwd=local, capture_output=True, check=True)
        subprocess.run([PYTHON, MILE, "list", "issue"], cwd=local, capture_output=True, check=True)

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(mixed, range(64)))
    told = subprocess.run([PYTHON, MILE, "verify"], cwd=local, capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+) entities", told)
    return [
        at_most("16 concurrent pushers: rejections", refused, 0),
        at_most("32 local processes, 64 issues written: issues lost", 64 - int(found[1] if found else 0), 0),
    ]


def refs(where: Path) -> list[str]:
    return git(where, "for-each-ref", "--format=%(refname)", "refs/postil/").split()


def best(command: list[str], where: Path, rounds: int) -> float:
    ended_cpu(command, cwd=where)
    return min(ended_cpu(command, cwd=where) for _ in range(rounds))


if __name__ == "__main__":
    print("\n".join(goal_table(list(tracker(Effort())))))
