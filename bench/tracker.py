"""The tracker at 10,000 and 100,000 issues: whole processes beside bare Python, the index beside `git cat-file`."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from msgspec import structs

from bench.report import Goal, goal_table
from bench.server import ROOT, ended_cpu
from postil.tracker import events as ev
from postil.tracker.log import SEAL
from postil.tracker.refnames import LOG
from postil.tracker.writer import segment_path

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
WRITERS = 8
EVENTS = 5


def tracker(rounds: int = 7, small: int = 10_000, large: int = 100_000) -> list[Goal]:
    """Every goal of the tracker."""
    with tempfile.TemporaryDirectory(prefix="postil-bench-") as folder:
        top = Path(folder)
        say(f"{small} and {large} issues, {EVENTS} events each, by {WRITERS} writers")
        few, many = filled(top / "few", small), filled(top / "many", large)
        goals = [*cold(many, large), *whole_processes(few, many, rounds), *refreshing(few, many, rounds)]
        goals += ordinary_git(top, many, rounds)
        goals += together(top)
    return goals


def filled(where: Path, issues: int) -> Path:
    """A repository with so many issues, packed as after a clone, and one ordinary commit.

    As in life: the writers take turns, one issue in three is touched by two of them, and most of what happens to an
    issue happens while the next few hundred are opened.
    """
    where.mkdir()
    git(where, "init", "--quiet", "--initial-branch=main")
    git(where, "commit", "--quiet", "--allow-empty", "-m", "first")
    dice = random.Random(1)
    ids = [ev.new_entity_id() for _ in range(issues)]
    replicas = ["bench" + letter * 8 for letter in "abcdefgh"[:WRITERS]]
    logs: list[list[tuple[int, bytes]]] = [[] for _ in replicas]
    seen: list[dict[str, int]] = [{} for _ in ids]
    for clock, (number, kind) in enumerate(happenings(dice, issues), 1):
        writer = (number + (kind % 2 if number % 3 == 0 else 0)) % WRITERS
        replica, log = replicas[writer], logs[writer]
        others = {other: n for other, n in seen[number].items() if other != replica}
        made = event(dice, ids[number], number, kind, replica, len(log) + 1, clock)
        log.append((clock, ev.encode(structs.replace(made, dep=others or None))))
        seen[number][replica] = len(log)
    for replica, log in zip(replicas, logs, strict=True):
        write_log(where, LOG + replica, log)
    git(where, "repack", "-adq")
    git(where, "prune-packed", "-q")
    return where


def happenings(dice: random.Random, issues: int) -> list[tuple[int, int]]:
    """(issue, which of its events) in the order they happen."""
    when: list[tuple[float, int, int]] = []
    for number in range(issues):
        at = float(number)
        for kind in range(EVENTS):
            when.append((at, number, kind))
            at += dice.expovariate(1 / 200)
    return [(number, kind) for _, number, kind in sorted(when)]


def write_log(where: Path, ref: str, log: list[tuple[int, bytes]]) -> None:
    """A log as commands write it: one commit an event, a segment every 256."""
    feed = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=where, stdin=subprocess.PIPE)
    assert feed.stdin is not None
    who = b"Bench <bench@example.org> 1760000000 +0000"
    for at, (clock, line) in enumerate(log):
        message = b"postil %d 1 %d\n\n%s\n" % (at, clock, line)
        feed.stdin.write(
            b"commit %s\nauthor %s\ncommitter %s\ndata %d\n%s\n" % (ref.encode(), who, who, len(message), message)
        )
        if (at + 1) % SEAL == 0:
            blob = b"".join(sealed + b"\n" for _, sealed in log[at + 1 - SEAL : at + 1])
            path = segment_path(at + 1 - SEAL, SEAL).encode()
            feed.stdin.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(blob), blob))
    feed.stdin.close()
    assert feed.wait() == 0


def event(dice: random.Random, id_: str, number: int, kind: int, replica: str, n: int, clock: int) -> ev.Known:
    words = " ".join(dice.choice(("crash", "start", "window", "slow", "config", "network")) for _ in range(8))
    stamp = {"ent": id_, "id": ev.new_event_id(), "r": replica, "n": n, "l": clock}
    told = {"ts": f"2026-01-{1 + clock % 28:02}T10:00:00.000Z", "a": "Ann Author <ann@example.org>"}
    if kind == 0:
        labels = ("bug", f"area-{number % 50}")
        return ev.Created(**stamp, **told, kind="issue", title=words[:50], description=words * 3, labels=labels)  # type: ignore[arg-type]
    if kind in (1, 2):
        return ev.Commented(**stamp, **told, c=ev.new_event_id(), body=words * 2)  # type: ignore[arg-type]
    if kind == 3:
        return ev.Labelled(**stamp, **told, add=(f"p{number % 4}",))  # type: ignore[arg-type]
    return ev.Set(**stamp, **told, f="status", value="closed" if number % 3 else "open")  # type: ignore[arg-type]


def whole_processes(few: Path, many: Path, rounds: int) -> list[Goal]:
    """List and create as processes of their own."""
    say("list and create")
    nothing = best([PYTHON, "-c", "pass"], many, rounds)
    listed = {where: best(LIST, where, rounds) for where in (few, many)}
    made = {where: best([PYTHON, MILE, "create", "issue", "One more"], where, rounds) for where in (few, many)}
    return [
        at_most(
            "git mile list, a filtered and sorted page of 50: 100k issues beside 10k", listed[many] / listed[few], 1.3
        ),
        at_most("git mile list at 100k issues beside `python -c pass`", listed[many] / nothing, 5),
        at_most("git mile create: 100k issues beside 10k", made[many] / made[few], 1.3),
    ]


def cold(many: Path, issues: int) -> list[Goal]:
    """Building the index from nothing, beside git reading the same objects."""
    say("cold index")
    whole = git(many, "rev-list", "--objects", *refs(many)).split("\n")
    everything = reading(many, [line.split(" ")[0] for line in whole if line])
    needed = [line.split()[2] for ref in refs(many) for line in git(many, "ls-tree", "-r", ref).splitlines()]
    needed += [oid for ref in refs(many) for oid in git(many, "rev-list", "-n", "255", ref).split()]
    segments = reading(many, needed)
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True);"
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss)"
    )
    seconds: list[float] = []
    memory: list[float] = []
    for _ in range(2):
        shutil.rmtree(many / ".git" / "postil", ignore_errors=True)
        done = subprocess.run([PYTHON, "-c", code, *LIST], cwd=many, capture_output=True, text=True, check=True)
        cpu, rss = done.stdout.split()
        seconds.append(float(cpu))
        memory.append(int(rss) / 1024)
    return [
        at_most(f"cold index of {issues} issues beside `git cat-file` of their logs", min(seconds) / everything, 4),
        at_most("the same beside `git cat-file` of the segments alone", min(seconds) / segments, 4),
        at_most("cold index: resident memory, MB", min(memory), 200),
    ]  # fmt: skip


def reading(where: Path, oids: list[str]) -> float:
    """CPU of git reading objects."""
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    return min(ended_cpu(["git", "cat-file", "--batch", "--buffer"], asked, cwd=where) for _ in range(3))


def refreshing(few: Path, many: Path, rounds: int) -> list[Goal]:
    """Taking in ten events that came with a fetch: CPU of the reader and of the git it asks."""
    say("incremental refresh")
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
    say("ordinary push and fetch")
    cost: dict[str, tuple[float, float]] = {}
    plain = top / "plain"
    git(top, "init", "--quiet", "--initial-branch=main", str(plain))
    git(plain, "commit", "--quiet", "--allow-empty", "-m", "first")
    for name, where in (("without", plain), ("with", many)):
        remote = top / f"{name}.git"
        git(top, "init", "--quiet", "--bare", str(remote))
        git(where, "remote", "add", "bench", str(remote))
        git(where, "push", "--quiet", "bench", "main", "refs/postil/*:refs/postil/*")
        pushes: list[float] = []
        fetches: list[float] = []
        for i in range(rounds):
            git(where, "commit", "--quiet", "--allow-empty", "-m", f"more {i}")
            pushes.append(ended_cpu(["git", "push", "--quiet", "bench", "main"], cwd=where))
            fetches.append(ended_cpu(["git", "fetch", "--quiet", "bench"], cwd=where))
        cost[name] = (min(pushes), min(fetches))
    return [
        at_most("an ordinary `git push` with 100k issues beside none", cost["with"][0] / cost["without"][0], 1.2),
        at_most("an ordinary `git fetch` with 100k issues beside none", cost["with"][1] / cost["without"][1], 1.2),
    ]


def together(top: Path) -> list[Goal]:
    """Sixteen pushers and thirty-two local processes at once: what was refused or lost."""
    say("sixteen pushers, thirty-two local processes")
    remote = top / "shared.git"
    git(top, "init", "--quiet", "--bare", str(remote))

    def pushing(number: int) -> int:
        where = top / f"pusher{number}"
        git(top, "clone", "--quiet", str(remote), str(where))
        refused = 0
        for i in range(3):
            subprocess.run(
                [PYTHON, MILE, "create", "issue", f"{number}-{i}"], cwd=where, capture_output=True, check=True
            )
            sent = subprocess.run([PYTHON, MILE, "push"], cwd=where, capture_output=True, text=True)
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


def at_most(what: str, value: float, limit: float) -> Goal:
    return Goal(what, f"≤ {limit:g}", f"{value:.2f}", value <= limit)


def refs(where: Path) -> list[str]:
    return git(where, "for-each-ref", "--format=%(refname)", "refs/postil/").split()


def best(command: list[str], where: Path, rounds: int) -> float:
    ended_cpu(command, cwd=where)
    return min(ended_cpu(command, cwd=where) for _ in range(rounds))


def git(where: Path, *arguments: str) -> str:
    identity = {"GIT_AUTHOR_NAME": "Bench", "GIT_AUTHOR_EMAIL": "b@example.org"}
    identity |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in identity.items()}
    done = subprocess.run(
        ["git", *arguments], cwd=where, capture_output=True, text=True, check=True, env={**os.environ, **identity}
    )
    return done.stdout


def say(what: str) -> None:
    print(f"bench: tracker: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    print("\n".join(goal_table(tracker(*(int(word) for word in sys.argv[1:])))))
