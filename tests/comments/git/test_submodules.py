"""Comments in submodules: what was said there is told of the commit that the workspace names for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.comments.anchoring import inner_repositories
from postil.comments.operations.by_id import ListedAt
from postil.comments.operations.views import ViewTools
from tests.comments.workspaces import Comments, commit, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{number} = {number}\n" for number in range(1, 31))


@pytest.fixture
def comments(tmp_path: Path) -> Comments:
    """A workspace with a submodule that has a comment, both committed."""
    library = workspace(tmp_path / "library", **{"lib.py": CODE})
    library.add("lib.py", 3, "of old", "NOTE")
    commit(tmp_path / "library", "commented")
    found = workspace(tmp_path / "work", **{"a.py": CODE})
    address = (tmp_path / "library").as_uri()
    git(tmp_path / "work", "-c", "protocol.file.allow=always", "submodule", "add", "-q", address, "sub")
    for key, value in (("user.name", "A"), ("user.email", "a@example.org")):
        git(tmp_path / "work" / "sub", "config", key, value)
    commit(tmp_path / "work", "with a submodule")
    return found


def test_what_a_submodule_said_before_is_not_told_as_new(comments: Comments, tmp_path: Path) -> None:
    views = ViewTools(comments.context)
    assert views.diff_comments("HEAD").steps == ()
    comments.add("sub/lib.py", 9, "new there", "NOTE")
    (step,) = views.diff_comments("HEAD").steps
    assert (step.what, step.filePath, step.line, step.text) == ("said", "sub/lib.py", 9, "new there")
    assert [each.what for each in views.diff_comments("HEAD~1").steps] == ["said", "said"], "it was not there"


def test_a_revision_has_the_comments_of_its_submodules(comments: Comments, tmp_path: Path) -> None:
    root = tmp_path / "work"
    comments.add("sub/lib.py", 9, "new there", "NOTE")
    write(root / "sub", "lib.py", "import os\n" + CODE)
    commit(root / "sub", "in the submodule")
    commit(root, "its new commit")
    past = comments.listed(revision="HEAD~1")
    assert [(each.filePath, each.line, each.text) for each in past.comments] == [("sub/lib.py", 3, "of old")]
    assert isinstance(past, ListedAt)
    assert [(each.filePath, each.line, each.text) for each in past.later] == [("sub/lib.py", 9, "new there")]
    now = comments.listed(revision="HEAD")
    assert [(each.line, each.text) for each in now.comments] == [(4, "of old"), (10, "new there")]


def test_a_file_renamed_and_edited_in_a_submodule_keeps_its_comments(comments: Comments, tmp_path: Path) -> None:
    """Seen from the workspace around it, as in the submodule itself."""
    root = tmp_path / "work" / "sub"
    git(root, "mv", "lib.py", "other.py")
    write(root, "other.py", "import os\n" + CODE.replace("value_20 = 20\n", "value_20 = 21\n"))
    commit(root, "renamed and edited, the sidecar left behind")
    inside = Comments(str(root)).listed().comments[0]
    assert (inside.state, inside.movedTo, inside.line) == ("moved", "other.py", 4)
    (there,) = comments.listed().comments
    assert (there.state, there.movedTo, there.line) == ("moved", "sub/other.py", 4)


def test_code_that_left_a_file_of_a_submodule_is_found_in_that_submodule(comments: Comments, tmp_path: Path) -> None:
    root = tmp_path / "work" / "sub"
    rows = CODE.splitlines(keepends=True)
    write(root, "lib.py", "".join(rows[15:]))
    assert [each.state for each in comments.listed().comments] == ["orphaned"]
    write(root, "first.py", "".join(rows[:15]))
    assert [(each.state, each.movedTo) for each in comments.listed().comments] == [("moved", "sub/first.py")]
    commit(root, "split")
    assert [each.movedTo for each in comments.listed().comments] == ["sub/first.py"]
    comments.relocate()
    assert (root / "first.py.comments").exists()


def test_a_submodule_in_which_git_is_not_asked_keeps_nobody_from_listing(comments: Comments, tmp_path: Path) -> None:
    """As one that takes objects from an unknown place: of what it lost nothing is found, everything else is told."""
    root = tmp_path / "work"
    comments.add("a.py", 2, "outside of it", "NOTE")
    git_dir = git(root / "sub", "rev-parse", "--absolute-git-dir").strip()
    Path(git_dir, "objects/info/alternates").write_text('"quoted"\n')
    (root / "sub/lib.py").unlink()
    found = {each.text: each.state for each in comments.listed().comments}
    assert found == {"outside of it": "exact", "of old": "orphaned"}


def test_what_a_submodule_without_git_lost_is_not_found_in_the_workspace_around_it(
    comments: Comments, tmp_path: Path
) -> None:
    root = tmp_path / "work"
    (root / "sub/.git").unlink()
    (root / "sub/.git").mkdir()
    (root / "sub/lib.py").unlink()
    write(root, "lib2.py", CODE + "# like it\n")
    assert [(each.state, each.movedTo) for each in comments.listed().comments] == [("orphaned", "")]


def test_a_submodule_whose_git_is_outside_of_the_workspace_is_not_asked(comments: Comments, tmp_path: Path) -> None:
    library, sub = tmp_path / "library", tmp_path / "work/sub"
    git(library, "mv", "lib.py", "secret.py")
    commit(library, "named anew")
    (sub / ".git").write_text(f"gitdir: {library / '.git'}\n")
    (sub / "lib.py").rename(sub / "secret.py")
    assert [(each.state, each.movedTo) for each in comments.listed().comments] == [("orphaned", "")]


def test_of_very_many_submodules_a_few_are_asked(
    comments: Comments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inner_repositories, "MOST_ASKED", 1)
    root, oid = tmp_path / "work", git(tmp_path / "work/sub", "rev-parse", "HEAD").strip()
    for number in range(3):
        git(root, "clone", "-q", str(tmp_path / "library"), f"sub{number}")
        git(root, "update-index", "--add", "--cacheinfo", f"160000,{oid},sub{number}")
    for folder in ("sub", "sub0", "sub1", "sub2"):
        (root / folder / "lib.py").rename(root / folder / "there.py")
    found = {each.filePath: each.state for each in comments.listed().comments}
    assert found == dict.fromkeys(("sub0/lib.py", "sub1/lib.py", "sub2/lib.py"), "orphaned") | {"sub/lib.py": "moved"}


def test_a_revision_tells_nothing_of_a_repository_outside(comments: Comments, tmp_path: Path) -> None:
    """A `.git` that is written by hand may lead to whatever its maker knows of."""
    link = tmp_path / "work" / "sub" / ".git"
    assert [each.text for each in comments.listed(revision="HEAD").comments] == ["of old"]
    link.write_text(f"gitdir: {tmp_path / 'library' / '.git'}\n")
    assert comments.listed(revision="HEAD").comments == ()
