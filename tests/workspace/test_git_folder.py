"""The git directory of ours: every kind of repository works in it, and what leads out of one is refused."""

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from postil.workspace.failures import DamagedConfig, ForeignOwner, OddRepository, UnknownExtension, UntrustedPath
from postil.workspace.git import DURABLE, NETWORK, change_config, git_lines, run_git, try_git
from postil.workspace.git_folder import find_git_folder
from postil.workspace.repository import find_repository
from tests.workspace.repositories import git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = new_repository(tmp_path / "repository", a__txt="one\n", b__txt="two\n")
    (root / "folder").mkdir()
    (root / "folder/c.txt").write_text("three\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    return root


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own git configuration, in which nothing is trusted yet."""
    file = tmp_path / "own"
    file.write_text("[user]\nname=A\nemail=a@example.org\n[protocol.file]\nallow=always\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
    return file


def check_it_works(root: Path) -> None:
    """Reading, comparing, writing objects and refs, as plain git sees them."""
    at = str(root)
    head = git(root, "rev-parse", "HEAD")
    assert run_git(at, "rev-parse", "HEAD").decode().strip() == head
    for asked in (("ls-files",), ("status", "--porcelain"), ("diff",)):
        assert run_git(at, *asked).decode().strip() == git(root, *asked)
    tree = run_git(at, "rev-parse", "HEAD^{tree}").decode().strip()
    person = "A <a@example.org> 1700000000 +0000"
    content = f"tree {tree}\nparent {head}\nauthor {person}\ncommitter {person}\n\nmade\n"
    made = run_git(at, "hash-object", "-t", "commit", "-w", "--stdin", input=content.encode(), mode=DURABLE).strip()
    run_git(at, "update-ref", "refs/postil/log/made", made.decode(), mode=DURABLE)
    assert git(root, "rev-parse", "refs/postil/log/made") == made.decode()
    assert b"refs/postil/log/made" in run_git(at, "for-each-ref", "--format=%(refname)").split()
    assert git(root, "log", "-1", "--format=%s", "refs/postil/log/made") == "made"
    run_git(at, "update-ref", "-d", "refs/postil/log/made", mode=DURABLE)
    assert try_git(at, "rev-parse", "--verify", "--quiet", "refs/postil/log/made").status == 1


def test_an_ordinary_repository_works(repository: Path) -> None:
    (repository / "a.txt").write_text("one, changed\n")
    (repository / "new.txt").write_text("new\n")
    check_it_works(repository)
    git(repository, "pack-refs", "--all")
    check_it_works(repository)
    git(repository, "fsck", "--strict")


def test_packed_refs_are_replaced_in_the_repository(repository: Path) -> None:
    git(repository, "update-ref", "refs/postil/log/x", "HEAD")
    git(repository, "pack-refs", "--all")
    run_git(str(repository), "update-ref", "-d", "refs/postil/log/x")
    assert "refs/postil/log/x" not in (repository / ".git/packed-refs").read_text()
    assert not (repository / ".git/packed-refs").is_symlink()


def test_a_worktree_works_with_a_config_of_its_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(repository, "config", "extensions.worktreeConfig", "true")
    side = tmp_path / "side"
    git(side, "config", "--worktree", "user.name", "Side")
    check_it_works(side)
    check_it_works(repository)
    git(side, "config", "--worktree", "core.fsmonitor", "touch ran; false")
    run_git(str(side), "status")
    assert run_git(str(side), "config", "user.name").strip() == b"Side"
    assert run_git(str(repository), "config", "user.name").strip() != b"Side"
    assert run_git(str(side), "symbolic-ref", "HEAD").strip() == b"refs/heads/side"
    assert b"folder/c.txt" in run_git(str(side), "ls-files")
    assert not (side / "ran").exists()


def test_a_worktree_that_was_moved_by_hand_asks_for_a_line(repository: Path, tmp_path: Path, own: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side").rename(tmp_path / "moved")
    with pytest.raises(UntrustedPath, match="does not know it"):
        find_repository(str(tmp_path / "moved"))
    git(tmp_path / "moved", "worktree", "repair")
    check_it_works(tmp_path / "moved")


def test_a_git_folder_elsewhere_works_when_it_is_known(repository: Path, tmp_path: Path, own: Path) -> None:
    git(tmp_path, "clone", "-q", "--separate-git-dir=apart", str(repository), "work")
    with pytest.raises(UntrustedPath, match="leads to a repository that does not know it") as refused:
        find_repository(str(tmp_path / "work"))
    subprocess.run(refused.value.advice.partition(": ")[2], shell=True, check=True)
    check_it_works(tmp_path / "work")
    own.write_text("[protocol.file]\nallow=always\n")
    git(tmp_path / "work", "config", "core.worktree", str(tmp_path / "work"))
    check_it_works(tmp_path / "work")
    git(tmp_path, "clone", "-q", "--bare", str(repository), "project/.bare")
    (tmp_path / "project/.git").write_text("gitdir: ./.bare\n")
    git(tmp_path / "project", "worktree", "add", "-q", "side", "HEAD")
    check_it_works(tmp_path / "project/side")


def test_a_submodule_works(repository: Path, tmp_path: Path) -> None:
    new_repository(tmp_path / "library", d__txt="four\n")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(tmp_path / "library"), "library")
    git(repository, "commit", "-qm", "library")
    check_it_works(repository / "library")
    check_it_works(repository)


def test_a_sparse_checkout_works(repository: Path) -> None:
    git(repository, "sparse-checkout", "set", "--cone", "--sparse-index", "folder")
    assert not (repository / "folder/a.txt").exists()
    check_it_works(repository)
    git(repository, "sparse-checkout", "set", "--no-cone", "/a.txt")
    check_it_works(repository)


@pytest.mark.usefixtures("any_option")
def test_a_shallow_clone_works(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    check_it_works(tmp_path / "shallow")
    assert len([*git_lines(str(tmp_path / "shallow"), "rev-list", "HEAD")]) == 1
    run_git(str(tmp_path / "shallow"), "fetch", "--quiet", "--deepen=1", "origin", mode=NETWORK)
    assert len([*git_lines(str(tmp_path / "shallow"), "rev-list", "HEAD")]) == 2


def test_a_partial_clone_works_and_fetches_nothing_by_itself(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    blob = git(repository, "rev-parse", "HEAD:folder/c.txt")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repository}", "partial")
    partial = tmp_path / "partial"
    assert run_git(str(partial), "rev-parse", "HEAD").decode().strip() == git(repository, "rev-parse", "HEAD")
    assert try_git(str(partial), "cat-file", "blob", blob).status != 0
    git(partial, "checkout", "-q", "HEAD")
    check_it_works(partial)


def test_a_repository_with_sha256_works(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    check_it_works(tmp_path)


def test_a_repository_with_reftables_works(tmp_path: Path, repository: Path) -> None:
    made = subprocess.run(["git", "init", "-q", "--ref-format=reftable"], cwd=tmp_path, capture_output=True)
    if made.returncode != 0:  # the installed git knows only files, and says so in the same way for every repository
        (repository / ".git/config").write_text(
            "[core]\nrepositoryformatversion = 1\n[extensions]\nrefStorage = reftable\n"
        )
        assert b"refstorage" in try_git(str(repository), "rev-parse", "HEAD").err
        return
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    check_it_works(tmp_path)
    git(tmp_path, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    check_it_works(tmp_path / "side")
    assert find_repository(str(tmp_path)).branch() == "main"


def test_a_bare_repository_works(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    bare = str(tmp_path / "bare.git")
    run_git(bare, "update-ref", "refs/postil/log/made", "HEAD", mode=DURABLE)
    assert git(tmp_path / "bare.git", "rev-parse", "refs/postil/log/made") == git(repository, "rev-parse", "HEAD")


def test_writers_of_both_kinds_do_not_disturb_each_other(repository: Path) -> None:
    def write(number: int) -> None:
        for step in range(5):
            ref = f"refs/postil/log/{number}-{step}"
            if number % 2:
                git(repository, "update-ref", ref, "HEAD")
            else:
                run_git(str(repository), "update-ref", ref, "HEAD", mode=DURABLE)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(git(repository, "for-each-ref", "refs/postil/").splitlines()) == 20


def test_a_setting_is_written_into_the_repository_own_file(repository: Path) -> None:
    done = change_config(find_repository(str(repository)), "--add", "remote.origin.fetch", "+refs/x/*:refs/y/*")
    assert done.status == 0
    assert git(repository, "config", "remote.origin.fetch") == "+refs/x/*:refs/y/*"
    assert run_git(str(repository), "config", "remote.origin.fetch").strip() == b"+refs/x/*:refs/y/*"


def test_a_home_that_cannot_be_written_is_no_obstacle(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/none")
    check_it_works(repository)


def test_a_damaged_folder_of_ours_is_made_again(repository: Path, tmp_path: Path) -> None:
    where = find_repository(str(repository))
    folder = Path(find_git_folder(where, str(tmp_path / "cache"), lambda _: []))
    good = (folder / "config").read_text()
    (folder / "config").write_text("")
    (repository / ".git/config").touch()
    assert find_git_folder(where, str(tmp_path / "cache"), lambda _: []) == str(folder)
    assert (folder / "config").read_text() == good


def test_folders_of_repositories_that_are_gone_are_removed(repository: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache/git"
    for number in range(300):
        (cache / f"gone-{number}").mkdir(parents=True)
    find_git_folder(find_repository(str(repository)), str(tmp_path / "cache"), lambda _: [])
    assert len([*cache.iterdir()]) == 1


# What is refused


def replace_by_link(name: str) -> Callable[[Path, Path], None]:
    def plant(git_dir: Path, outside: Path) -> None:
        place = git_dir / name
        if place.exists():
            place.rename(outside)
        elif name.endswith(("postil", "/log", "er", "graphs")):
            outside.mkdir()
        else:
            outside.write_text("")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(outside)

    return plant


@pytest.mark.parametrize(
    "name", ["objects", "refs", "refs/heads", "objects/pack", "HEAD", "index", "config", "packed-refs", "shallow",
             "logs", "refs/postil", "refs/heads/postil/log", "logs/HEAD", "logs/refs/postil/remote/origin/a",
             "refs/worktree/deep/er", "objects/info/commit-graphs"],
)  # fmt: skip
def test_a_link_out_of_the_git_folder_is_refused_until_it_is_trusted(
    repository: Path, tmp_path: Path, own: Path, name: str
) -> None:
    replace_by_link(name)(repository / ".git", tmp_path / "outside")
    with pytest.raises(OddRepository) as refused:
        run_git(str(repository), "rev-parse", "HEAD")
    line = refused.value.advice.partition("allow it: ")[2]
    subprocess.run(line, shell=True, check=True)
    if name != "HEAD":  # which git itself does not follow
        assert run_git(str(repository), "rev-parse", "HEAD")


def test_a_link_in_the_place_of_our_folder_is_refused_whatever_is_trusted_and_nothing_else_is_said(
    repository: Path, tmp_path: Path, own: Path
) -> None:
    replace_by_link("postil")(repository / ".git", tmp_path / "outside")
    git(repository, "config", "--global", "--add", "postil.trusted", "*")
    for use in (find_repository(str(repository)).postil_folder, lambda: run_git(str(repository), "status")):
        with pytest.raises(OddRepository, match=r"\.git/postil is a link") as refused:
            use()
        assert "remove it" in refused.value.advice
        assert "allow it" not in refused.value.advice


def test_a_log_of_a_ref_that_is_a_link_is_not_written_through(repository: Path, tmp_path: Path, own: Path) -> None:
    """Plain git appends a line to what such a link names, with a name and a message of the archive's choice."""
    (tmp_path / "outside").write_text("mine\n")
    git(repository, "config", "core.logAllRefUpdates", "always")
    (repository / ".git/logs/refs/postil/log").mkdir(parents=True)
    (repository / ".git/logs/refs/postil/log/made").symlink_to(tmp_path / "outside")
    with pytest.raises(OddRepository):
        run_git(str(repository), "update-ref", "refs/postil/log/made", "HEAD")
    assert (tmp_path / "outside").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["refs/postil/log", "refs/postil/log/made", "logs/HEAD"])
def test_a_link_that_only_looks_as_if_it_named_a_ref_is_refused(
    repository: Path, tmp_path: Path, own: Path, name: str
) -> None:
    """Plain git writes refs through such a folder, and lines through such a log, wherever it leads."""
    place, outside = repository / ".git" / name, tmp_path / "outside"
    (place.parent / "refs").mkdir(parents=True, exist_ok=True)
    outside.mkdir()
    place.unlink(missing_ok=True)
    place.symlink_to(os.path.join("refs", os.path.relpath(outside, place.parent / "refs")))
    assert place.is_dir()
    with pytest.raises(OddRepository):
        run_git(str(repository), "update-ref", "refs/postil/log/made", "HEAD")
    assert [*outside.iterdir()] == []


def test_a_link_that_names_a_ref_is_followed_as_git_does(repository: Path, own: Path) -> None:
    place = repository / ".git/refs/remotes/origin/HEAD"
    place.parent.mkdir(parents=True)
    place.symlink_to("refs/remotes/origin/main")
    git(repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert run_git(str(repository), "rev-parse", "origin/HEAD").decode().strip() == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    "name", ["HEAD", "index", "config", "packed-refs", "shallow", "objects/info/alternates",
             "objects/info/commit-graph", "objects/info/commit-graphs/commit-graph-chain", "info/exclude",
             "objects/pack/multi-pack-index", "refs/replace/x", "refs/remotes/origin/x", "logs/refs/heads/x",
             "reftable/tables.list", "worktrees/x/HEAD", "../.mailmap", "../.gitignore", "../.gitattributes"],
)  # fmt: skip
def test_a_fifo_is_never_waited_for(repository: Path, name: str) -> None:
    place = repository / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    with pytest.raises(OddRepository) as refused:
        run_git(str(repository), "status", timeout=20)
    assert "remove it" in refused.value.advice
    assert "allow it" not in refused.value.advice  # it would be refused all the same


def test_a_fifo_in_the_place_of_the_git_folder_is_no_repository(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert try_git(str(tmp_path), "status").status == 128


def test_alternates_outside_are_named_until_they_are_trusted(repository: Path, tmp_path: Path, own: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(repository), "sharing")
    with pytest.raises(UntrustedPath, match="takes objects from") as refused:
        run_git(str(tmp_path / "sharing"), "rev-parse", "HEAD")
    subprocess.run(refused.value.advice.partition(": ")[2], shell=True, check=True)
    check_it_works(tmp_path / "sharing")


def test_alternates_inside_are_fine_and_lead_no_further(repository: Path, tmp_path: Path, own: Path) -> None:
    (repository / ".git/more/info").mkdir(parents=True)
    (repository / ".git/objects/info/alternates").write_text("../more\n# a remark\n")
    check_it_works(repository)
    outside = new_repository(tmp_path / "outside", d__txt="of another repository\n")
    git(outside, "gc", "--quiet")
    (repository / ".git/more/pack").symlink_to(outside / ".git/objects/pack")
    (repository / ".git/objects/yy").mkdir()
    with pytest.raises(OddRepository, match="objects/pack"):
        run_git(str(repository), "cat-file", "blob", git(outside, "rev-parse", "HEAD:d.txt"))
    (repository / ".git/more/pack").unlink()
    (repository / ".git/more/info/alternates").write_text(f"{tmp_path}\n")
    (repository / ".git/objects/zz").mkdir()  # as a new object does: the folder changed
    with pytest.raises(UntrustedPath):
        run_git(str(repository), "rev-parse", "HEAD")


def test_a_repository_of_somebody_else_is_refused_as_git_does(
    repository: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(ForeignOwner, match="belongs to another user") as refused:
        run_git(str(repository), "rev-parse", "HEAD")
    for allowed in (refused.value.advice.partition(": ")[2], None):
        if allowed is None:
            own.write_text(f"[safe]\ndirectory = {repository.parent}/*\n")
        else:
            subprocess.run(allowed, shell=True, check=True)
        assert run_git(str(repository), "rev-parse", "HEAD")
    own.write_text("[safe]\ndirectory = *\ndirectory =\n")
    with pytest.raises(ForeignOwner):
        run_git(str(repository), "rev-parse", "HEAD")


def test_root_may_enter_what_belongs_to_the_user_it_works_for(
    repository: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.lstat(repository).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: 0 if real else 54321)
    monkeypatch.setenv("SUDO_UID", str(real))
    if real:
        assert run_git(str(repository), "rev-parse", "HEAD")
    else:  # we are root already: only root may use the variable
        with pytest.raises(ForeignOwner):
            run_git(str(repository), "rev-parse", "HEAD")


def test_a_config_that_git_cannot_read_is_named(repository: Path) -> None:
    (repository / ".git/config").write_text("[core\n")
    with pytest.raises(DamagedConfig, match=r"config cannot be read in line 1"):
        run_git(str(repository), "status")
    (repository / ".git/config").write_text("#" * 2_000_000)
    with pytest.raises(DamagedConfig):
        run_git(str(repository), "status")


def test_an_extension_that_nobody_knows_is_refused(repository: Path) -> None:
    config = "[core]\nrepositoryformatversion = 1\n[extensions]\nrefStorage = reftable:///tmp/elsewhere\n"
    (repository / ".git/config").write_text(config)
    with pytest.raises(UnknownExtension, match="refstorage"):
        run_git(str(repository), "status")
