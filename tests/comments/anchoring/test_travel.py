"""Lost code is looked for in other files, and found only where it went with what was around it."""

from __future__ import annotations

from pathlib import Path

import pytest

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
