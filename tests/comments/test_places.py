"""Every command of the part where git is young, shallow, bare or absent: an answer, or a failure that helps."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from postil.comments.operations.transfer import TransferTools
from postil.comments.operations.views import ViewTools
from postil.core.failure import Failure, NotFound
from tests.comments.workspaces import Comments, commit
from tests.workspace.repositories import git

CODE = "".join(f"def step_{number}(state):\n    return state + {number}\n\n\n" for number in range(1, 9))


def without_git(root: Path) -> Path:
    root.mkdir()
    return root


def without_a_commit(root: Path) -> Path:
    root.mkdir()
    git(root, "init", "-q")
    return root


def made(root: Path) -> Path:
    """A repository with two commits."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return with_two_commits(root)


def with_two_commits(root: Path) -> Path:
    for text in ("# first\n", "# second\n"):
        (root / "other.py").write_text(text)
        git(root, "add", "-A")
        git(root, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", text)
    return root


def shallow(root: Path) -> Path:
    origin = made(root.parent / "origin")
    git(root.parent, "clone", "-q", "--depth", "1", f"file://{origin}", str(root))
    return root


def beside_a_bare_one(root: Path) -> Path:
    origin = made(root.parent / "origin")
    git(root.parent, "clone", "-q", "--bare", str(origin), "bare.git")
    git(root.parent / "bare.git", "worktree", "add", "-q", str(root), "main")
    return root


def sparse(root: Path) -> Path:
    """A clone that has only some of its folders here."""
    origin = made(root.parent / "origin")
    (origin / "far").mkdir()
    (origin / "far" / "b.py").write_text(CODE)
    Comments(str(origin), cache_home=str(root.parent / "cache"), author="Ann").add("far/b.py", 2, "far away", "NOTE")
    git(origin, "add", "-A")
    git(origin, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "far")
    git(root.parent, "clone", "-q", "--sparse", str(origin), str(root))
    assert not (root / "far").exists()
    return root


@pytest.mark.parametrize("make", [without_git, without_a_commit, shallow, beside_a_bare_one, sparse])
def test_every_command_answers(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    check_every_command(make(tmp_path / "work"), tmp_path, is_repository=make is not without_git)


def test_every_command_answers_where_refs_are_in_tables_or_says_that_git_is_too_old(tmp_path: Path) -> None:
    """git from 2.45 on makes such repositories (`make attack-newest` has one); an older one refuses them."""
    root = tmp_path / "work"
    done = subprocess.run(["git", "init", "-q", "-b", "main", "--ref-format=reftable", str(root)], check=False)
    if done.returncode != 0:
        root = made(root)
        config = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n"
        (root / ".git" / "config").write_text(config)
        (root / "a.py").write_text(CODE)
        comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
        comments.add("a.py", 6, "why two?", "QUESTION")
        with pytest.raises(Failure) as refused:
            ViewTools(comments.context).report("HEAD")
        assert "unknown repository extension" in refused.value.text()
        assert [each.text for each in comments.listed().comments] == ["why two?"]
        return
    with_two_commits(root)
    check_every_command(root, tmp_path)
    (root / "a.py").write_text(CODE)
    comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
    lost = comments.add("a.py", 6, "goes along", "NOTE").commentId
    base = commit(root, "commented")
    (root / "a.py").write_text("".join(f"other_{n} = rest.of({n})\n" for n in range(30)))
    commit(root, "rewritten")
    git(root, "mv", "a.py", "c.py")
    commit(root, "renamed")
    assert comments.show(lost).comment.movedTo == "c.py"
    assert comments.listed(revision=base).comments
    assert "goes along" in ViewTools(comments.context).report(base).for_model()
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Comments(str(tmp_path / "side"), cache_home=str(tmp_path / "cache"), author="Ann")
    assert [each.text for each in side.listed().comments] == ["goes along"]


def check_every_command(root: Path, tmp_path: Path, *, is_repository: bool = True) -> None:
    """Ask everything of the part once, about a file that is edited, renamed and deleted."""
    (root / "a.py").write_text(CODE)
    comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
    identity = comments.add("a.py", 6, "why two?", "QUESTION").commentId
    (root / "a.py").write_text("import os\n\n\n" + CODE)
    assert [(each.line, each.state) for each in comments.listed().comments] == [(9, "moved")]
    for ask in (
        lambda: comments.show(identity),
        lambda: comments.file_comments("a.py"),
        lambda: comments.search("two"),
        lambda: comments.history.lifetime(identity),
        comments.reviewing.list_orphans,
        comments.relocate,
        lambda: comments.export("json"),
        comments.maintenance.check_files,
        comments.maintenance.doctor_files,
        comments.maintenance.doctor_driver,
        lambda: comments.undo(identity),
        lambda: ViewTools(comments.context).view("a.py"),
        lambda: comments.reply(identity, "because"),
        lambda: comments.resolve(identity),
        comments.resources.read_all,
    ):
        ask()
    if not is_repository:
        with pytest.raises(NotFound, match="There is no git repository here, so no commit"):
            comments.blame(identity)
    else:
        comments.blame(identity)
    (root / "b.py").write_text((root / "a.py").read_text())
    (root / "a.py").unlink()
    (lost,) = comments.listed().comments
    assert lost.movedTo == "b.py" or lost.state in ("orphaned", "review")
    (root / "b.py").unlink()
    assert comments.listed().comments[0].state == "orphaned"
    assert comments.delete("a.py", identity).commentId == identity


@pytest.mark.parametrize("make", [without_git, without_a_commit])
def test_where_there_is_no_revision_it_is_said_so(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    root = make(tmp_path / "work")
    (root / "a.py").write_text(CODE)
    comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
    comments.add("a.py", 6, "why two?", "QUESTION")
    views = ViewTools(comments.context)
    for ask in (
        lambda: comments.listed(revision="HEAD"),
        lambda: comments.listed(changed="HEAD"),
        lambda: views.diff_comments("HEAD"),
        lambda: views.report("HEAD"),
        lambda: views.view("a.py", diff="HEAD"),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_bare_repository_is_said_to_be_one(tmp_path: Path) -> None:
    origin = made(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "--bare", str(origin), "bare.git")
    comments = Comments(str(tmp_path / "bare.git"), cache_home=str(tmp_path / "cache"), author="Ann")
    for ask in (
        comments.listed,
        lambda: comments.add("a.py", 1, "x", "NOTE"),
        lambda: comments.search("two"),
        comments.reviewing.list_orphans,
        comments.relocate,
        lambda: comments.export("json"),
        comments.resources.read_all,
        lambda: comments.file_comments("other.py"),
        lambda: ViewTools(comments.context).view("other.py"),
        lambda: ViewTools(comments.context).diff_comments("HEAD"),
        lambda: ViewTools(comments.context).report("HEAD"),
        lambda: comments.listed(revision="HEAD"),
        lambda: comments.resources.read_file("other.py"),
        comments.maintenance.check_files,
    ):
        with pytest.raises(NotFound, match="bare repository") as refused:
            ask()
        assert "git worktree add" in refused.value.advice
    assert comments.glance() == "no comments"
    for check in (comments.maintenance.doctor_cache, comments.maintenance.doctor_erased):
        assert check().status == "ok"


def test_what_a_sparse_checkout_leaves_out_is_not_told_as_deleted(tmp_path: Path) -> None:
    root = sparse(tmp_path / "work")
    comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
    views = ViewTools(comments.context)
    assert views.diff_comments("HEAD").steps == ()
    assert [(each.what, each.text) for each in views.diff_comments("HEAD~1").steps] == [("said", "far away")]
    assert views.report("HEAD~1").comments == ()
    assert [each.text for each in comments.listed(revision="HEAD").comments] == ["far away"]
    assert comments.maintenance.check_files().exit_status == 0


def test_comments_outside_of_a_sparse_checkout_are_counted_and_it_is_said_how_to_see_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = sparse(tmp_path / "work")
    (root / "a.py").write_text(CODE)
    comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
    said = (
        "The comments of 1 file outside of the sparse checkout are left out: `git sparse-checkout add far` brings them "
        "here; `postil comments at HEAD` lists them as they were committed"
    )
    assert comments.glance() == said
    comments.add("a.py", 6, "why two?", "QUESTION")
    assert comments.glance() == f"1 open. {said}"
    report = ViewTools(comments.context).report("HEAD~1")
    for answer in (comments.listed(), comments.search("two"), comments.reviewing.list_orphans(), report):
        assert said in str(answer.for_model())
        assert said in str(answer.for_person())
        assert answer.outside == said
    assert said not in comments.listed(file="a.py").for_model()
    assert said in comments.listed(file="far/**").for_model()
    document, words = comments.export("json").for_model()
    assert said in str(words)
    assert said not in str(document)
    comments.export("json").for_person()
    assert said in capsys.readouterr().err
    assert said in comments.export("json", output=str(tmp_path / "out.json")).for_person()
    for form in ("sarif", "codequality"):
        ViewTools(comments.context).report("HEAD~1", format=form).for_person()
        assert said in capsys.readouterr().err
    git(root, "sparse-checkout", "add", "far")
    assert [each.text for each in comments.listed().comments] == ["why two?", "far away"]
    assert said not in comments.listed().for_model()


def test_resources_say_what_a_sparse_checkout_leaves_out(tmp_path: Path) -> None:
    root = sparse(tmp_path / "work")
    comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
    (root / "a.py").write_text(CODE)
    comments.add("a.py", 6, "why two?", "QUESTION")
    said = comments.overview.outside()
    assert said.startswith("The comments of 1 file outside of the sparse checkout are left out")
    found = comments.resources
    for body in (found.read_all(), found.read_tag("QUESTION"), found.read_orphaned(), found.read_enriched()):
        assert msgspec.to_builtins(body)["outside"] == said
    assert "outside" not in msgspec.to_builtins(found.read_file("a.py"))
    git(root, "sparse-checkout", "set", "--no-cone", "*.py")
    assert (root / "far" / "b.py").exists()
    assert found.read_file("far/b.py").outside == said
    git(root, "sparse-checkout", "disable")
    assert "outside" not in msgspec.to_builtins(found.read_all())
    assert "outside" not in msgspec.to_builtins(found.read_file("far/b.py"))


def test_a_file_whose_comments_alone_a_sparse_checkout_leaves_out_does_not_say_that_it_has_none(
    tmp_path: Path,
) -> None:
    root = sparse(tmp_path / "work")
    comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
    git(root, "sparse-checkout", "set", "--no-cone", "*.py")
    assert (root / "far" / "b.py").exists()
    assert not (root / "far" / "b.py.comments").exists()
    said = comments.overview.outside()
    views, transfer = ViewTools(comments.context), TransferTools(comments.context)
    for answer in (comments.file_comments("far/b.py"), views.view("far/b.py"), transfer.write_inline("far/b.py")):
        assert answer.outside == said
        assert said in str(answer.for_model())
        assert said in str(answer.for_person() or answer.for_model())
    git(root, "sparse-checkout", "disable")
    assert [each.text for each in comments.file_comments("far/b.py").comments] == ["far away"]
    assert said not in comments.file_comments("far/b.py").for_model()
    assert "outside" not in msgspec.to_builtins(comments.file_comments("far/b.py"))


def test_a_path_outside_of_a_sparse_checkout_is_said_to_be_outside(tmp_path: Path) -> None:
    comments = Comments(str(sparse(tmp_path / "work")), cache_home=str(tmp_path / "cache"), author="Ann")
    for ask in (
        lambda: comments.add("far/b.py", 2, "x", "NOTE"),
        lambda: comments.file_comments("far/b.py"),
        lambda: ViewTools(comments.context).view("far/b.py"),
        lambda: comments.listed(file="far"),
        lambda: comments.listed(file="far/b.py"),
        lambda: comments.export("json", "far/b.py"),
    ):
        with pytest.raises(NotFound) as refused:
            ask()
        assert refused.value.advice == (
            "It lies outside of the sparse checkout: `git sparse-checkout add far` brings it here"
        )
    with pytest.raises(NotFound) as refused:
        comments.add("nowhere.py", 2, "x", "NOTE")
    assert refused.value.advice == "Check that the file exists in the workspace"


def test_comments_that_a_sparse_checkout_leaves_out_are_not_begun_anew(tmp_path: Path) -> None:
    root = sparse(tmp_path / "work")
    git(root, "sparse-checkout", "set", "--no-cone", "*.py")
    assert (root / "far" / "b.py").exists()
    assert not (root / "far" / "b.py.comments").exists()
    comments = Comments(str(root), cache_home=str(tmp_path / "cache"), author="Ann")
    with pytest.raises(Failure) as refused:
        comments.add("far/b.py", 1, "mine", "NOTE")
    assert "`git sparse-checkout add far` brings it here" in refused.value.advice
    assert not (root / "far" / "b.py.comments").exists()
    git(root, "sparse-checkout", "disable")
    comments.add("far/b.py", 1, "mine", "NOTE")
    assert sorted(each.text for each in comments.listed("far/b.py").comments) == ["far away", "mine"]
