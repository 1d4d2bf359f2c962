"""git runs, answers, streams and fails in words."""

import os
from pathlib import Path

import pytest

from postil.core.failure import InvalidArguments
from postil.tracker.log.format import find_merge_base, is_ancestor
from postil.workspace.clones.snapshot import find_commit
from postil.workspace.failures import GitFailed, GitMissing, GitTimedOut, ObjectDamaged, OddRepository
from postil.workspace.git import NETWORK, GitResult, ask_git, git_dialogue, git_lines, run_git, try_git
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository", a__txt="one\n", b__txt="two\n")


def test_git_answers_what_it_printed(repository: Path) -> None:
    assert run_git(str(repository), "ls-files").split() == [b"a.txt", b"b.txt"]


def test_a_refusal_of_git_is_a_failure_with_its_first_line(repository: Path) -> None:
    with pytest.raises(GitFailed, match="git rev-parse failed: fatal: Needed a single revision"):
        run_git(str(repository), "rev-parse", "--verify", "nothing-here")


def test_a_blob_that_is_gone_is_damage(repository: Path) -> None:
    name = git(repository, "rev-parse", "HEAD:a.txt").strip()
    (repository / ".git/objects" / name[:2] / name[2:]).unlink()
    (repository / "a.txt").write_text("other\n")
    with pytest.raises(ObjectDamaged, match=f"unable to read {name}") as refused:
        run_git(str(repository), "diff", "HEAD")
    with pytest.raises(ObjectDamaged):
        list(git_lines(str(repository), "diff", "HEAD"))
    assert refused.value.exit_status == 7


def test_a_refusal_is_an_answer_where_it_is_asked_for(repository: Path) -> None:
    assert try_git(str(repository), "rev-parse", "--verify", "--quiet", "nothing").status == 1


def test_an_argument_with_a_nul_is_refused_in_words(repository: Path) -> None:
    with pytest.raises(InvalidArguments, match="NUL"):
        run_git(str(repository), "rev-parse", "a\0b")


def test_input_reaches_git(repository: Path) -> None:
    name = run_git(str(repository), "hash-object", "--stdin", input=b"hello\n").strip()
    assert name == b"ce013625030ba8dba906f756967f9e9ca394464a"


def test_a_missing_git_is_named(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(GitMissing, match="git program was not found"):
        run_git(str(repository), "status")


def test_a_git_that_does_not_end_is_ended(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").write_text("[core]\nfilesRefLockTimeout = 60000\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "own"))
    (repository / ".git/refs/heads/other.lock").touch()  # as another writer would
    with pytest.raises(GitTimedOut, match="did not end within"):
        run_git(str(repository), "update-ref", "refs/heads/other", "HEAD", timeout=0.2)


def test_output_streams_and_leaving_early_is_no_fault(repository: Path) -> None:
    (repository / "long.txt").write_text("line\n" * 200_000)
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "long")
    lines = git_lines(str(repository), "show", "HEAD:long.txt")
    assert next(lines) == b"line"
    lines.close()
    assert sum(1 for _ in git_lines(str(repository), "show", "HEAD:long.txt")) == 200_000


def test_lines_may_end_with_nul(repository: Path) -> None:
    assert list(git_lines(str(repository), "ls-files", "-z", separator=b"\0")) == [b"a.txt", b"b.txt"]


def test_a_stream_that_fails_raises_at_its_end(repository: Path) -> None:
    with pytest.raises(GitFailed, match="git show failed: fatal: "):
        list(git_lines(str(repository), "show", "HEAD:nothing"))


def test_a_dialogue_answers_again_and_again(repository: Path) -> None:
    with git_dialogue(str(repository), "cat-file", "--batch") as (ask, answer):
        for name, content in (("HEAD:a.txt", b"one\n"), ("HEAD:b.txt", b"two\n")):
            ask.write(name.encode() + b"\n")
            ask.flush()
            size = int(answer.readline().split()[2])
            assert answer.read(size + 1)[:-1] == content


def test_the_network_mode_pushes_and_fetches(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "shared.git")
    git(repository, "remote", "add", "origin", str(tmp_path / "shared.git"))
    run_git(str(repository), "push", "--quiet", "origin", "HEAD:refs/heads/main", mode=NETWORK)
    run_git(str(repository), "fetch", "--quiet", "origin", mode=NETWORK)
    assert run_git(str(repository), "rev-parse", "origin/main") == run_git(str(repository), "rev-parse", "HEAD")
    with pytest.raises(GitFailed):  # and only that mode does
        run_git(str(repository), "fetch", "--quiet", "origin")


# FIFOs, as an archive may bring them


@pytest.fixture
def pipe(repository: Path) -> Path:
    (repository / "src").mkdir()
    os.mkfifo(repository / "src/.gitignore")
    return repository


def test_a_fifo_that_git_waits_for_is_named(pipe: Path) -> None:
    with pytest.raises(OddRepository, match=r"src/\.gitignore is not a regular file"):
        run_git(str(pipe), "status", "--porcelain")
    with pytest.raises(OddRepository, match=r"src/\.gitignore is not a regular file"):
        list(git_lines(str(pipe), "ls-files", "-co", "--exclude-standard"))


def test_a_fifo_among_the_objects_is_named(repository: Path) -> None:
    name = run_git(str(repository), "rev-parse", "HEAD:a.txt").decode().strip()
    lies = repository / ".git/objects" / name[:2] / name[2:]
    lies.unlink()
    os.mkfifo(lies)
    with pytest.raises(OddRepository, match="is not a regular file"):
        run_git(str(repository), "cat-file", "blob", name)
    with git_dialogue(str(repository), "cat-file", "--batch") as (ask, answer):
        ask.write(f"{name}\n".encode())
        ask.flush()
        with pytest.raises(OddRepository, match="is not a regular file"):
            answer.readline()


def test_a_fifo_anywhere_in_the_git_folder_is_named(repository: Path) -> None:
    os.mkfifo(repository / ".git/FETCH_HEAD")
    with pytest.raises(OddRepository, match="FETCH_HEAD is not a regular file"):
        run_git(str(repository), "rev-parse", "FETCH_HEAD")
    git(repository, "update-index", "--split-index")
    (shared,) = (repository / ".git").glob("sharedindex.*")
    (repository / ".git/FETCH_HEAD").unlink()
    shared.unlink()
    os.mkfifo(shared)
    with pytest.raises(OddRepository, match="sharedindex"):
        run_git(str(repository), "ls-files")


def test_a_git_that_works_for_long_is_let_alone(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found, and its answer comes."""
    monkeypatch.setattr("postil.workspace.spawn.LOOK_AFTER", 0.0)
    monkeypatch.setattr("postil.workspace.git.LOOK_AFTER", 0.0001)
    assert run_git(str(repository), "ls-files").split() == [b"a.txt", b"b.txt"]
    assert list(git_lines(str(repository), "ls-files")) == [b"a.txt", b"b.txt"]


def test_a_git_that_was_ended_is_not_one_that_says_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(new_repository(tmp_path))
    assert ask_git(root, "rev-parse", "--verify", "--quiet", "nothing") is None
    with pytest.raises(GitFailed):
        ask_git(root, "rev-parse", "--verify", "HEAD^{nothing}")

    def end(*_: object, **__: object) -> GitResult:
        return GitResult(-9, b"", b"")

    monkeypatch.setattr("postil.workspace.git.try_git", end)
    for ask in (is_ancestor, find_merge_base):
        with pytest.raises(GitFailed):
            ask(root, "HEAD", "HEAD")
    with pytest.raises(GitFailed):
        find_commit(root, "HEAD")
