"""Which lines changed since a revision."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from postil.comments.show.changed_lines import find_base, find_changed, list_changed_lines, parse_diff
from postil.comments.source_tree import SourceTree
from postil.core.failure import NotFound
from tests.comments.workspaces import commit, workspace, write
from tests.workspace.repositories import git

CODE = "".join(f"value_{number} = {number}\n" for number in range(1, 21))


@pytest.fixture
def tree(tmp_path: Path) -> SourceTree:
    return workspace(tmp_path, **{"a.py": CODE, "ä b.py": CODE, "gone.py": CODE}).tree


def test_edited_added_and_deleted_lines_are_told(tree: SourceTree) -> None:
    root = Path(tree.root)
    rows = CODE.splitlines(keepends=True)
    write(root, "a.py", "".join([*rows[:2], "edited = 3\n", *rows[3:9], "added = 1\n", *rows[9:15], *rows[17:]]))
    (root / "gone.py").unlink()
    write(root, "new.py", CODE)
    found = list_changed_lines(tree, "HEAD")
    changed = found["a.py"]
    assert [(each.start, each.stop) for each in changed.ranges] == [(3, 4), (10, 11)]
    assert changed.removed == {3: ("value_3 = 3",), 17: ("value_16 = 16", "value_17 = 17")}
    assert changed.touches(3, 3)
    assert changed.touches(16, 17)
    assert not changed.touches(5, 8)
    assert found["new.py"].touches(7, 7)
    assert found["gone.py"].ranges == ()
    assert len(found["gone.py"].removed[1]) == 20
    assert "/dev/null" not in found


def test_lines_that_look_like_heads_of_a_diff_are_lines(tree: SourceTree) -> None:
    root = Path(tree.root)
    write(root, "a.py", "++ b/other.py\n-- a/other.py\n" + CODE)
    assert set(list_changed_lines(tree, "HEAD")) == {"a.py"}


def test_a_file_that_was_renamed_has_changed_where_it_was_edited(tree: SourceTree) -> None:
    root = Path(tree.root)
    write(root, "gone.py", CODE.replace("value", "other"))  # else git may take either file for either new one
    commit(root, "two files that differ")
    git(root, "mv", "a.py", "renamed.py")
    write(root, "renamed.py", CODE.replace("value_7 = 7", "value_7 = 70"))
    git(root, "mv", "gone.py", "moved.py")
    git(root, "add", "-A")
    found = list_changed_lines(tree, "HEAD")
    assert found["renamed.py"].touches(7, 7)
    assert not found["renamed.py"].touches(12, 12)
    assert found["a.py"] == found["renamed.py"]  # a comment that lost its code is kept under the old name
    assert "moved.py" not in found
    write(root, "a.py", "another = 1\n")
    assert list_changed_lines(tree, "HEAD")["a.py"].touches(1, 1)


def test_odd_names_are_read(tree: SourceTree) -> None:
    write(Path(tree.root), "ä b.py", "first = 0\n" + CODE)
    assert list_changed_lines(tree, "HEAD")["ä b.py"].touches(1, 1)


def test_the_base_is_where_the_branches_parted(tree: SourceTree) -> None:
    root = Path(tree.root)
    git(root, "checkout", "-q", "-b", "work")
    write(root, "a.py", "mine = 1\n" + CODE)
    commit(root, "mine")
    git(root, "checkout", "-q", "-")
    write(root, "gone.py", "theirs = 1\n" + CODE)
    commit(root, "theirs")
    base = git(root, "rev-parse", "--abbrev-ref", "HEAD").strip()
    git(root, "checkout", "-q", "work")
    assert set(list_changed_lines(tree, find_base(tree, base))) == {"a.py"}
    with pytest.raises(NotFound):
        find_base(tree, "no-such-branch")


def test_a_revision_that_is_not_there_is_told_with_what_helps_here(
    tree: SourceTree, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root, beside = Path(tree.root), tmp_path_factory.mktemp("beside")
    write(root, "a.py", "later = 1\n")
    commit(root, "later")

    def refusal(folder: Path, revision: str) -> tuple[str, str]:
        with pytest.raises(NotFound) as caught:
            find_base(SourceTree(str(folder)), revision)
        return caught.value.message, str(caught.value.details().get("suggestion"))

    assert "fetched" in refusal(root, "no-such-branch")[1]
    git(beside, "clone", "-q", "--depth", "1", root.as_uri(), "shallow")
    message, advice = refusal(beside / "shallow", "HEAD~1")
    assert "shallow" in message
    git(root, "branch", "other", "HEAD~1")
    assert refusal(beside / "shallow", "origin/other")[1] == advice
    _, *command = shlex.split(advice.split("`")[1])
    git(beside / "shallow", *command)
    for revision in ("HEAD~1", "origin/other"):
        assert find_base(SourceTree(str(beside / "shallow")), revision), "what was advised helps"
    (beside / "empty").mkdir()
    assert "no git repository" in refusal(beside / "empty", "HEAD")[0]
    git(beside / "empty", "init", "-q")
    assert "nothing is committed" in refusal(beside / "empty", "HEAD")[0]


def test_what_changed_in_a_submodule_is_told_with_its_folder(
    tree: SourceTree, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root, beside = Path(tree.root), tmp_path_factory.mktemp("beside")
    workspace(beside, **{"lib.py": CODE, "kept.py": CODE})
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", beside.as_uri(), "sub")
    assert list_changed_lines(tree, "HEAD")["sub/lib.py"].touches(3, 3), "a new submodule is new as a whole"
    git(root, "commit", "-q", "-m", "with a submodule")
    assert list_changed_lines(tree, "HEAD") == {}
    write(root / "sub", "lib.py", "first = 0\n" + CODE)
    found = list_changed_lines(tree, "HEAD")
    assert set(found) == {"sub/lib.py"}
    assert found["sub/lib.py"].touches(1, 1)
    assert not found["sub/lib.py"].touches(5, 5)
    commit(root / "sub", "in the submodule")
    commit(root, "its new commit")
    assert set(list_changed_lines(tree, "HEAD~1")) == {"sub/lib.py"}
    one = find_changed(tree, "HEAD~1", "sub/lib.py")
    assert one == list_changed_lines(tree, "HEAD~1")["sub/lib.py"]
    assert list_changed_lines(tree, "HEAD") == {}


def test_a_file_without_a_diff_is_changed_as_a_whole(tree: SourceTree) -> None:
    root = Path(tree.root)
    write(root, ".gitattributes", "*.py -diff\n")
    commit(root, "nothing is shown of them")
    write(root, "a.py", CODE + "more = 1\n")
    (root / "ä b.py").chmod(0o755)
    found = list_changed_lines(tree, "HEAD")
    assert found["a.py"].touches(21, 21)
    commit(root, "changed")
    assert "ä b.py" not in list_changed_lines(tree, "HEAD~1"), "its mode is no line"
    assert list_changed_lines(tree, "HEAD~1")["a.py"].touches(1, 1)


@pytest.mark.parametrize("quote", ["true", "false"])
def test_odd_names_are_read_as_git_writes_them(
    tree: SourceTree, quote: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user may let git write letters as they are, and quotes and tabs escaped."""
    own = tmp_path_factory.mktemp("own") / "gitconfig"
    own.write_text(f"[user]\nname=A\nemail=a@example.org\n[core]\nquotePath={quote}\n[diff]\ninterHunkContext=9\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    root = Path(tree.root)
    names = {'ü "q"\\n\t.py', "new\nline.py", "plain.py", "tail .py", "\x01\x1bé.py"}
    for name in names:
        write(root, name, CODE)
    commit(root, "odd")
    for name in names:
        write(root, name, "first = 0\n" + CODE + "last = 0\n")
    found = list_changed_lines(tree, "HEAD")
    assert set(found) == names
    assert all(not each.touches(5, 5) for each in found.values()), "what stands between two changes is not changed"


def test_many_removed_lines_are_read_once_each() -> None:
    """They were copied anew for every further one: a large file that went took minutes."""
    rows = b"".join(b"-%d\n" % number for number in range(200_000))
    diff = b"--- a.py\n+++ /dev/null\n@@ -1,200000 +0,0 @@\n" + rows
    assert len(parse_diff(diff)["a.py"].removed[1]) == 200_000


def test_names_of_other_bytes_than_text_are_left_out(tree: SourceTree) -> None:
    """No comment can be on such a file; its name could not be sent."""
    root = os.fsencode(tree.root)
    for name in (b"new\xff.py", b"\xfe.py"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"one = 1\n")
    write(Path(tree.root), "a.py", CODE + "more = 1\n")
    assert set(list_changed_lines(tree, "HEAD")) == {"a.py"}
    git(Path(tree.root), "add", "-A")
    assert set(list_changed_lines(tree, "HEAD")) == {"a.py"}


def test_one_file_that_was_renamed_has_changed_where_it_was_edited(tree: SourceTree) -> None:
    root = Path(tree.root)
    (root / "gone.py").unlink()
    (root / "ä b.py").unlink()  # else git may take either for the new one
    commit(root, "one file")
    git(root, "mv", "a.py", "ü [1].py")
    write(root, "ü [1].py", CODE.replace("value_7 = 7", "value_7 = 70"))
    for base in (commit(root, "renamed and edited") + "~1", "HEAD~1"):
        found = find_changed(tree, base, "ü [1].py")
        assert found is not None
        assert [*found.ranges] == [range(7, 8)]
        assert found.removed == {7: ("value_7 = 7",)}
    assert find_changed(tree, "HEAD", "ü [1].py") is None
    git(root, "mv", "ü [1].py", "again.py")
    staged = find_changed(tree, "HEAD~1", "again.py")
    assert staged is not None
    assert [*staged.ranges] == [range(7, 8)]
    write(root, "new.py", "something = 'else'\n")
    assert find_changed(tree, "HEAD", "new.py") is not None
