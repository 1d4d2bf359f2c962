"""A file that has another name now brought its lines along: what was in it before did not travel to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.anchoring.former_names import find_former_names
from tests.comments.shop import line_of
from tests.comments.workspaces import Comments, commit, root_of, workspace, write
from tests.workspace.repositories import git

SHARED = """    def refuse(self, problem):
        self.destination.refuse(problem)
        self.unsubscribe_from_all()
        report_the_problem(problem)
"""


def make(name: str, steps: int = 20) -> str:
    """A class with methods of its own and one that others have, too."""
    own = [f"    def {name}_{step}(self):\n        return self.{name}_value * {step}\n\n" for step in range(steps)]
    return f"class {name.title()}:\n" + "".join(own[: steps // 2]) + SHARED + "\n" + "".join(own[steps // 2 :])


FIRST, SECOND = make("first"), make("second")


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    return workspace(tmp_path, **{"old/first.py": FIRST, "old/second.py": SECOND, "other/third.py": make("third")})


@pytest.mark.parametrize("name", ["new/second.py", "new/second_class.py"])
def test_code_that_is_gone_is_not_what_a_renamed_file_had_before(comments: Comments, name: str) -> None:
    root = root_of(comments)
    line = line_of(FIRST, "self.destination.refuse")
    identity = comments.add("old/first.py", line, "Why?", "QUESTION").commentId
    commit(root, "commented")
    (root / "old/first.py").unlink()
    (root / "old/second.py").unlink()
    write(root, name, SECOND.replace("class Second", "class SecondOfAll"))
    commit(root, "one class deleted, one renamed")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo or "") == ("orphaned", "")


def test_what_a_renamed_file_had_before_still_goes_along_with_it(comments: Comments) -> None:
    root = root_of(comments)
    line = line_of(SECOND, "self.destination.refuse")
    identity = comments.add("old/second.py", line, "Why?", "QUESTION").commentId
    commit(root, "commented")
    (root / "old/first.py").unlink()
    (root / "old/second.py").unlink()
    write(root, "new/second.py", SECOND.replace("class Second", "class SecondOfAll"))
    commit(root, "one class deleted, one renamed")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line) == ("new/second.py", line)


def test_of_two_files_that_became_one_both_bring_their_code(comments: Comments) -> None:
    root = root_of(comments)
    line = line_of(FIRST, "return self.first_value * 7")
    identity = comments.add("old/first.py", line, "Why?", "QUESTION").commentId
    commit(root, "commented")
    (root / "old/first.py").unlink()
    (root / "old/second.py").unlink()
    both = SECOND + "\n\n" + FIRST
    write(root, "new/second.py", both)
    commit(root, "joined")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line) == ("new/second.py", line_of(both, "return self.first_value * 7"))


def test_former_names_are_those_of_git_and_files_of_the_same_name(comments: Comments) -> None:
    root = root_of(comments)
    base = git(root, "rev-parse", "HEAD")
    write(root, "deep/old/second.py", "x = 1\n")
    (root / "old/second.py").rename(root / "old/renamed.py")
    write(root, "elsewhere/third.py", "y = 2\n")
    commit(root, "renamed")
    found = find_former_names(comments.tree, base, ["old/renamed.py", "elsewhere/third.py", "deep/old/second.py"])
    assert found == {
        "old/renamed.py": ["old/second.py"],
        "elsewhere/third.py": ["other/third.py"],
        "deep/old/second.py": ["old/second.py"],
    }


HEADER = "".join(f"# The {step}th condition under which this may be copied.\n" for step in range(14))


def test_what_proves_nothing_by_itself_goes_along_with_most_of_its_file(comments: Comments) -> None:
    root = root_of(comments)
    table = "".join(f"NAME_{step} = {step}\n" for step in range(14))
    old = "# Copyright of somebody.\n# Licensed to everybody.\n\n" + table + FIRST
    new = old.replace(" = ", ": Final = ")
    write(root, "old/licensed.py", old)
    identity = comments.add("old/licensed.py", 2, "Is this so?", "QUESTION").commentId
    commit(root, "commented")
    (root / "old/licensed.py").unlink()
    write(root, "new/licensed.py", new)
    commit(root, "renamed and edited")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line, place.state) == ("new/licensed.py", 2, "moved")


def test_a_file_whose_content_went_elsewhere_may_stay_and_lead_there(comments: Comments) -> None:
    root = root_of(comments)
    write(root, "old/licensed.py", HEADER + "\n\n" + FIRST)
    identity = comments.add("old/licensed.py", 3, "Is this so?", "QUESTION").commentId
    commit(root, "commented")
    write(root, "old/licensed.py", "from new.licensed import *\n")
    write(root, "new/licensed.py", HEADER + "\n\nimport os\n" + FIRST)
    commit(root, "moved, and the old name kept")
    place = comments.show(identity).comment
    assert (place.movedTo, place.line, place.state) == ("new/licensed.py", 3, "moved")


def test_of_a_file_that_kept_its_content_nothing_else_is_what_became_of_it(comments: Comments) -> None:
    root = root_of(comments)
    line = line_of(FIRST, "self.destination.refuse")
    identity = comments.add("old/first.py", line, "Why?", "QUESTION").commentId
    commit(root, "commented")
    write(root, "old/first.py", FIRST.replace(SHARED, ""))
    write(root, "new/first.py", FIRST.replace(SHARED, "").replace("first", "last"))
    commit(root, "one method deleted, and a class like it")
    place = comments.show(identity).comment
    assert (place.state, place.movedTo or "") == ("orphaned", "")
