"""Score the anchoring engine on pairs of file versions with known truth and write the tables to the docs.

    python -m scripts.anchors SCORER DATA... [PACKAGE...]

SCORER is called with a data file, `--` and the command that relocates (`python -m postil.anchor.batch`); what it prints
is the table. Neither the scorer nor the truth is part of this repository: `make anchors DATA=…` names them. A package
(`pypi:click`, `npm:express`) is downloaded, and its releases are truth as well: those that bench/package_histories.py
names when none is. The tables go to docs/benchmarks.md, the diagram of how sure it was rightly to docs/anchoring.md.

The trees in use may have learnt from the data, and then what they say of it flatters. So every project is also judged
by trees that never saw it (scripts/train_anchor.py --check), where numpy and lightgbm are to be had.
"""

import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from bench.anchor_truth import ask, show_reliability, show_sets
from bench.hard_anchors import list_files, make_cases, measure, show
from bench.package_histories import PACKAGES, write
from scripts.usage import show_usage

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
GUIDE = ROOT / "docs" / "anchoring.md"
MARK = "<!-- anchors: written by make anchors, kept by make bench -->"
BEGIN, END = "<!-- reliability: written by make anchors -->", "<!-- reliability ends -->"


def score(scorer: str, data: str) -> str:
    """What the scorer prints about one file of truth."""
    command = [sys.executable, scorer, data, "--", sys.executable, "-m", "postil.anchor.batch"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"the scorer ended with {done.returncode} on {Path(data).name}")
    return done.stdout.rstrip()


def judge_by_project(files: list[str]) -> str:
    """How the engine answers for projects that its trees have not seen: found, silently wrong, in review, percent."""
    missing = [name for name in ("numpy", "lightgbm") if find_spec(name) is None]
    if missing:
        return f"Not judged by project: {' and '.join(missing)} not installed (`scripts/train_anchor.py --check`)."
    command = [sys.executable, "-m", "scripts.train_anchor", *files, "--check"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"judging by project ended with {done.returncode}")
    return done.stdout[done.stdout.index("| truth") :].rstrip()


def score_packages(packages: list[str]) -> tuple[str, str]:
    """How well the releases of packages are followed: the table by set, and the diagram of how sure it was."""
    with tempfile.TemporaryDirectory() as there:
        file = Path(there) / "packages.jsonl.xz"
        write(file, packages)
        answers = list(ask(file))
    diagram = show_reliability((each.confidence, each.right) for each in answers)
    return "\n".join(show_sets(answers)), "\n".join(diagram)


def replace_between(page: str, text: str) -> str:
    """A page with what stands between the marks of the diagram replaced; one without marks stays."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}" if begin and end else page


def main() -> None:
    show_usage(__doc__)
    scorer, *named = sys.argv[1:] or [""]
    packages = [each for each in named if each.startswith(("pypi:", "npm:"))]
    files = [each for each in named if each not in packages]
    if not files:
        sys.exit(
            "name the data: make anchors DATA='first.jsonl.xz second.jsonl.xz' (SCORER=… if it is not beside them)"
        )
    parts = [
        MARK,
        "",
        "## Anchoring",
        "",
        f"Written by `make anchors` on {datetime.now(UTC):%Y-%m-%d}; docs/anchoring.md explains it.",
    ]
    for file in files:
        table = score(scorer, file)
        print(table)
        parts += ["", f"`{Path(file).name}`:", "", "```text", table, "```"]
    table = judge_by_project([str(Path(file).resolve()) for file in files])
    print(table)
    parts += ["", "The trees in use learnt from such data, so the above flatters. By trees that never saw the project:"]
    parts += ["", table]
    table = "\n".join(show(measure(make_cases(list_files()))))
    print(table)
    parts += ["", "Hard cases, made of modules of the standard library (`bench/hard_anchors.py`):", "", table]
    chosen = packages or list(PACKAGES)
    table, diagram = score_packages(chosen)
    print(table, diagram, sep="\n\n")
    parts += ["", f"Releases of {', '.join(chosen)} (`bench/package_histories.py`):", "", table]
    page = PAGE.read_text("utf-8") if PAGE.exists() else "# Benchmarks\n"
    PAGE.write_text(page.partition(MARK)[0].rstrip() + "\n\n" + "\n".join(parts) + "\n", "utf-8")
    GUIDE.write_text(replace_between(GUIDE.read_text("utf-8"), diagram), "utf-8")


if __name__ == "__main__":
    main()
