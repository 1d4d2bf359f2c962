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
