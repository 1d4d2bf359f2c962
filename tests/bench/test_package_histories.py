"""Truth from packages, and what is shown of it. Nothing is downloaded here."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from bench.anchor_truth import ask, show_reliability, show_sets
from bench.package_histories import (
    LESSONS,
    PACKAGES,
    TAUGHT,
    Release,
    Step,
    edit_files,
    follow,
    follow_all,
    make_history,
    make_pairs,
    write,
)
from scripts.anchors import BEGIN, END, replace_between

FUNCTIONS = [f"def step_{number}(value):\n    go({number})\n    return value\n\n" for number in range(6)]


def test_releases_are_followed_where_the_diff_leaves_no_doubt() -> None:
    old = "".join(FUNCTIONS).split("\n")
    new = "".join([*FUNCTIONS[:2], FUNCTIONS[3].replace("go(3)", "go(3, now)"), *FUNCTIONS[4:]]).split("\n")
    # What git says of it: the third function went, and one line of the fourth was edited.
    found = follow(old, new, [(8, 4, 8, 0), (13, 1, 9, 1)])
    assert [found[row] for row in (0, 12, 13, 20)] == [0, 8, 9, 16]
    assert found[8] is None  # nothing like its name is left where it was
    assert (2 in found, 10 in found) == (True, False)  # it is everywhere: only between two lines that are unique


def test_a_line_in_doubt_is_not_asked_for() -> None:
    rows = ["one = 1", "two = 2", "three = 3"]
    assert follow(rows, ["one = 1", "something else", "three = 3"], [(1, 1, 1, 1)]) == {0: 0, 2: 2}
    assert follow(rows, ["one = 1", "two = 22", "three = 3"], [(1, 1, 1, 1)]) == {0: 0, 1: 1, 2: 2}


def test_what_is_judged_was_not_taught() -> None:
    assert not {*PACKAGES} & {*TAUGHT}
    assert all(each.startswith(("npm:", "pypi:")) for each in TAUGHT)


def test_lessons_have_rows_that_nothing_like_them_replaced() -> None:
    rows = ["one = 1", "value = compute(first)", "three = 3"]
    unlike, alike = ["one = 1", "if not ok: raise", "three = 3"], ["one = 1", "value = derive(first)", "three = 3"]
    assert follow(rows, unlike, [(1, 1, 1, 1)], replaced=True) == {0: 0, 1: None, 2: 2}
    assert follow(rows, alike, [(1, 1, 1, 1)], replaced=True)[1] == 1
    assert 1 not in follow(rows, ["one = 1", "own = compute(second)", "three = 3"], [(1, 1, 1, 1)], replaced=True)


def test_packages_become_pairs_with_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["".join(FUNCTIONS)]
    texts.append(texts[0].replace("go(2)", "go(2, now)"))
    texts.append("import os\n\n" + texts[1].replace("    go(4)\n", ""))
    archives = {str(number): tmp_path / str(number) for number in range(3)}

    def list_versions(*_: object) -> list[str]:
        return list(archives)

    def fetch(*_: object) -> dict[str, Path]:
        return archives

    def read_archive(path: Path) -> list[tuple[str, str]]:
        return [("a.py", texts[int(path.name)])]

    monkeypatch.setattr("bench.package_histories.list_versions", list_versions)
    monkeypatch.setattr("bench.package_histories.fetch", fetch)
    monkeypatch.setattr("bench.package_histories.read_archive", read_archive)
    folder = tmp_path / "history"
    folder.mkdir()
    releases = make_history("pypi:a", folder)
    pairs = list(make_pairs("pypi:a", folder, releases))
    assert {about["set"] for about, *_ in pairs} == {"releases, +1"}
    for about, old, new in pairs:
        anchors = msgspec.convert(about["anchors"], list[dict[str, int | str | None]])
        for each in anchors:
            line, truth = each["line"], each["truth"]
            assert isinstance(line, int)
            before = old.split("\n")[line - 1]
            after = new.split("\n")[truth - 1] if isinstance(truth, int) else ""
            assert before == after or "go(" in before
    steps = [{"a.py": Step("a.py", [(9, 1, 9, 1)])}, {"a.py": Step("", [])}]
    assert follow_all(releases, steps, 0, 2, "a.py", Random(5)) is None  # the file is gone
    long = Release("", {"a.py": "".join(FUNCTIONS).replace("    go", "    if value:\n        go") * 3})
    assert {about["set"] for about, *_ in edit_files("pypi:a", long)} > {"edited: storm", "edited: deleted"}
    written = tmp_path / "pairs.jsonl.xz"
    assert write(written, ["pypi:a"]) == len(pairs)
    lessons = list(make_pairs("pypi:a", folder, releases, LESSONS))
    assert {about["set"] for about, *_ in lessons} == {"lessons, +1"}
    answers = list(ask(written))
    assert {each.verdict for each in answers} <= {"right", "review"}
    assert next(row for row in show_sets(answers) if "releases" in row).startswith(f"| releases, +1 | {len(answers)} |")


def test_the_diagram_shows_of_those_said_to_be_sure_how_many_are_right() -> None:
    said = [(0.93, True), (0.93, True), (0.93, True), (0.92, False), (0.02, False)]
    rows = list(show_reliability(said))[2:]
    assert rows == ["| below 0.1 | 1 | 0.0 |  |", f"| 0.9 | 4 | 75.0 | {'█' * 15} |"]
    page = f"# A\n{BEGIN}\nold\n{END}\nrest\n"
    assert replace_between(page, "new") == f"# A\n{BEGIN}\nnew\n{END}\nrest\n"
    assert replace_between("# no marks\n", "new") == "# no marks\n"
