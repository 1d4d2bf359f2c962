"""Lost code is looked for in other files, and found only where it went with what was around it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from postil.anchor.model import Candidate, Relocation, Source, Span
from postil.comments.anchoring.travel import Origin, rank, search_others
from postil.comments.model import OtherFile
from tests.anchor.stock import EDITED, LOAD, STOCK
from tests.comments.shop import CODE, add_at, line_of
from tests.comments.workspaces import Comments, commit, root_of, workspace, write

OTHER = """def load(path):
    with open(path) as file:
        return file.read()


def parse(text):
    found = []
    for row in text.split("\\n"):
        found.append(row.strip())
    return found


def report(rows):
    for row in rows:
        print(row)
    return len(rows)
"""


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"shop.py": CODE, "other.py": OTHER})


def test_the_engine_is_asked_only_about_what_may_have_come_to_a_file() -> None:
    text = OTHER + "".join(f"step_{number} = compute({number})\n" for number in range(20))
    old, rest = Source(text, "other.py"), Source("", "other.py")
    lines = [line_of(text, "        found.append(row.strip())"), line_of(text, "step_19 = compute(19)")]
    here = [Relocation("orphaned", None, 1.0, "", "", "") for _ in lines]
    asked: list[list[int]] = []

    def ask(some: Sequence[int], _: Source) -> Sequence[Relocation]:
        asked.append(list(some))
        return [here[each] for each in some]

    came = OTHER[OTHER.index("def parse") : OTHER.index("def report")]
    search_others(here, ask, [Origin(old, line - 1) for line in lines], rest, [OtherFile("new.py", came)])
    assert asked == [[0]]


def test_a_generic_line_of_deleted_code_is_gone_and_not_in_another_file(comments: Comments) -> None:
    root = root_of(comments)
    identity = comments.add("other.py", line_of(OTHER, "    return found"), "Why a list?", "QUESTION").commentId
    commit(root, "commented")
    begin, end = OTHER.index("def parse"), OTHER.index("def report")
    write(root, "other.py", OTHER[:begin] + OTHER[end:])
    write(root, "new.py", "def collect(source):\n    found = set(source)\n    found.discard(None)\n    return found\n")
    commit(root, "another function of another name")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo or "") == ("orphaned", "")


def test_a_file_renamed_and_edited_keeps_its_comments(tmp_path: Path) -> None:
    steps = [f"    result_{number} = compute_step_{number}(state, {number})" for number in range(40)]
    old = "\n".join(["def run(state):", *steps, "    return result_39"]) + "\n"
    edited = [row + ", True)" if 12 <= at <= 28 else row for at, row in enumerate(steps)]
    new = (
        "\n".join(["import logging", "", "", "def loop(state):", *edited, "    return result_39"]).replace("), ", ", ")
        + "\n"
    )
    comments = workspace(tmp_path, **{"job.py": old})
    root = root_of(comments)
    identity = comments.add("job.py", line_of(old, "result_20 ="), "Why twenty?", "QUESTION").commentId
    commit(root, "commented")
    (root / "job.py").unlink()
    write(root, "task.py", new)
    commit(root, "renamed, and edited all around the comment")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo, place.line) == ("modified", "task.py", line_of(new, "result_20 ="))
    assert place.anchor == comments.file_comments("job.py").comments[0].anchor == "loop()"


def test_of_a_renamed_file_it_is_said_where_it_is_when_the_code_is_gone(comments: Comments) -> None:
    root = root_of(comments)
    identity = add_at(comments, "taxed = ")
    commit(root, "commented")
    begin, end = CODE.index("def gross"), CODE.index("class Basket")
    (root / "shop.py").unlink()
    write(root, "store.py", CODE[:begin] + CODE[end:])
    commit(root, "renamed, one function deleted")
    place = comments.show(identity).comment
    assert place.state in ("orphaned", "review")
    assert "store.py" in (place.reason or "")


def test_a_file_split_in_two_finds_both_halves(comments: Comments) -> None:
    root = root_of(comments)
    first, second = add_at(comments, "taxed = "), add_at(comments, "def total")
    commit(root, "commented")
    cut = CODE.index("class Basket")
    (root / "shop.py").unlink()
    write(root, "tax.py", CODE[:cut])
    write(root, "basket.py", "from tax import gross\n\n\n" + CODE[cut:])
    commit(root, "split")
    assert comments.show(first).comment.movedTo == "tax.py"
    assert comments.show(second).comment.movedTo == "basket.py"


def test_a_class_copied_to_another_file_leaves_its_comments_with_the_one_that_was_edited(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"stock.py": STOCK, "other.py": "import sys\n"})
    lines = [number for number, line in enumerate(STOCK.splitlines(), 1) if line.strip()]
    for line in lines:
        comments.add("stock.py", line, "look here", "NOTE")
    commit(tmp_path, "commented")
    write(tmp_path, "stock.py", STOCK.replace(LOAD, EDITED))
    write(tmp_path, "archive.py", '"""Old things."""\n\nimport json\n\n\n' + STOCK)
    commit(tmp_path, "copied and edited")
    assert [each for each in comments.listed().comments if each.movedTo] == []
    assert comments.relocate().moved == ()
    assert not (tmp_path / "archive.py.comments").exists()


GROSS = CODE[CODE.index("def gross") : CODE.index("class Basket")]


@pytest.mark.parametrize("there", [GROSS, CODE])
@pytest.mark.parametrize("kept", ["", CODE.replace(GROSS, "")])
def test_of_code_that_is_in_two_files_now_a_person_is_asked(comments: Comments, there: str, kept: str) -> None:
    root, identity = root_of(comments), add_at(comments, "taxed = ")
    commit(root, "commented")
    write(root, "one.py", "import one\n\n\n" + there)
    write(root, "two.py", "import two\n\n\n" + there)
    if kept:
        write(root, "shop.py", kept)
    else:
        (root / "shop.py").unlink()
    commit(root, "twice")
    place = comments.show(identity).comment
    line = line_of("\n\n\n" + there, "taxed = ")
    assert (place.state, place.movedTo) == ("review", "")
    assert [(each.path, each.line) for each in place.candidates] == [("one.py", line), ("two.py", line)]
    assert comments.relocate().moved == ()


def test_code_goes_where_all_of_its_function_went_and_not_where_a_part_of_it_did(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"stock.py": STOCK})
    identity = comments.add("stock.py", line_of(STOCK, "read_item("), "look here", "NOTE").commentId
    commit(tmp_path, "commented")
    write(tmp_path, "stock.py", STOCK.replace(LOAD, ""))
    write(tmp_path, "part.py", "def read_all(self, names):\n" + "".join(LOAD.splitlines(keepends=True)[2:5]))
    write(tmp_path, "whole.py", "class Archive:\n" + LOAD)
    commit(tmp_path, "split")
    assert comments.show(identity).comment.movedTo == "whole.py"


def test_a_person_is_asked_where_most_came_to_another_folder_and_enough_to_its_own(tmp_path: Path) -> None:
    names = ("cpu_count_cores", "cpu_freq", "cpu_stats", "cpu_times", "per_cpu_times")
    rows = [f"PyObject *psutil_{name}(PyObject *self, PyObject *args);\n" for name in names]
    licence = "/*\n * Copyright (c) 2009, the authors. All rights reserved.\n */\n\n#include <Python.h>\n\n"
    own = [f"DWORD *psutil_of_windows_{number}(DWORD pid);\n" for number in range(20)]
    comments = workspace(tmp_path, **{"windows/cpu.h": licence + "".join(rows)})
    line = line_of(licence + "".join(rows), "cpu_stats")
    identity = comments.add("windows/cpu.h", line, "look here", "NOTE").commentId
    commit(tmp_path, "commented")
    (tmp_path / "windows" / "cpu.h").unlink()
    write(tmp_path, "osx/init.h", licence + "".join(rows) + "int of_osx(void);\n")
    write(tmp_path, "windows/init.h", "".join((*own, *rows[:4], *own[:9], rows[4])))
    commit(tmp_path, "one header a folder")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo) == ("review", "")
    assert [each.path for each in place.candidates] == ["windows/init.h", "osx/init.h"]


def test_of_places_that_are_equally_likely_the_nearest_is_named_first(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"lib/helpers/shop.py": CODE, "dist/browser/all.cjs": "start()\n"})
    line = line_of(CODE, "taxed = ")
    identity = comments.add("lib/helpers/shop.py", line, "of the tax").commentId
    commit(tmp_path, "commented")
    (tmp_path / "lib/helpers/shop.py").unlink()
    others = (
        "dist/browser/all.cjs",
        "dist/one.py",
        "lib/one.cjs",
        "lib/one.py",
        "lib/helpers/two.cjs",
        "lib/helpers/two.py",
    )
    for name in others:
        write(tmp_path, name, "import one\n\n\n" + CODE)
    commit(tmp_path, "built anew, and split")
    place = comments.show(identity).comment
    assert place.state == "review"
    named = [each.path for each in place.candidates]
    assert named == ["lib/helpers/two.py", "lib/helpers/two.cjs", "lib/one.py", "lib/one.cjs", "dist/one.py"]
    assert "now: lib/helpers/two.py, lib/helpers/two.cjs" in (place.reason or "")


def test_of_places_that_are_equally_likely_the_same_code_is_named_before_what_is_alike() -> None:
    near, far = Candidate(Span(3), 0.7, "  tax(a, b)", "lib/a.py"), Candidate(Span(9), 0.7, "tax(a,  c)", "dist/b.py")
    sure = Candidate(Span(1), 0.9, "tax()", "dist/c.py")
    assert rank((near, far, sure), "tax(a, c)", "lib/x.py") == (sure, far, near)
    assert rank((far, near), "tax(a, b)", "lib/x.py") == (near, far)
