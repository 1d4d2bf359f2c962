"""Score the anchoring engine on pairs of file versions with known truth and write the table to docs/benchmarks.md.

    python -m scripts.anchors SCORER DATA...

SCORER is called with a data file, `--` and the command that relocates (`python -m postil.anchor.batch`); what it prints
is the table. Neither the scorer nor the truth is part of this repository: `make anchors DATA=…` names them.
"""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from bench.hard_anchors import list_files, make_cases, measure, show

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
MARK = "<!-- anchors: written by make anchors, kept by make bench -->"


def score(scorer: str, data: str) -> str:
    """What the scorer prints about one file of truth."""
    command = [sys.executable, scorer, data, "--", sys.executable, "-m", "postil.anchor.batch"]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"the scorer ended with {done.returncode} on {Path(data).name}")
    return done.stdout.rstrip()


def main() -> None:
    scorer, *files = sys.argv[1:]
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
    table = "\n".join(show(measure(make_cases(list_files()))))
    print(table)
    parts += ["", "Hard cases, made of modules of the standard library (`bench/hard_anchors.py`):", "", table]
    page = PAGE.read_text("utf-8") if PAGE.exists() else "# Benchmarks\n"
    PAGE.write_text(page.partition(MARK)[0].rstrip() + "\n\n" + "\n".join(parts) + "\n", "utf-8")


if __name__ == "__main__":
    main()
