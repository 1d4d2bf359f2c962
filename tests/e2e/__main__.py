"""Every version of lazygit, driven through all six places; `--lines N` points at random lines: `make lazygit`."""

import sys
import tempfile
from pathlib import Path

from tests.e2e.lazygit import VERSIONS
from tests.e2e.lines import remark_on_random_lines
from tests.e2e.stories import check_review, check_six_places, make_reviewer, remark_in_six_places, review_with_keys


def main() -> int:
    """Drive the versions that are named, or all; exit 1 when one of them fails."""
    words = sys.argv[1:]
    if words[:1] == ["--lines"]:
        return point(int(words[1]), *words[2:])
    failed = 0
    for version in sys.argv[1:] or VERSIONS:
        with tempfile.TemporaryDirectory() as folder:
            person = make_reviewer(Path(folder))
            try:
                remark_in_six_places(person, version)
                check_six_places(person)
                with tempfile.TemporaryDirectory() as second:
                    reviewer = make_reviewer(Path(second))
                    review_with_keys(reviewer, version)
                    check_review(reviewer)
            except AssertionError as error:
                failed += 1
                print(f"lazygit {version}: {error}")
            else:
                print(f"lazygit {version}: all six places, and a review")
    return 1 if failed else 0


def point(count: int, version: str = VERSIONS[-1]) -> int:
    """Point at random lines in one version; exit 1 when a remark landed elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        right, wrong = remark_on_random_lines(Path(folder), version, count)
    print(*wrong, f"lazygit {version}: {right} of {count} lines", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
