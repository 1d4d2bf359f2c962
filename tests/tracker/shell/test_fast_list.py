"""The fast list gives the ordinary answer, or none; and it imports next to nothing."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from postil.tracker import events as ev
from postil.tracker.index.pages import read_page
from postil.tracker.shell.fast_list import fast_list
from postil.tracker.store import Store
from postil.workspace.repository import find_repository
from tests.tracker.programs import git
from tests.tracker.questions import fill, random_filter

RUN = "import sys; from postil.surfaces.shell.main import {} as run; sys.exit(run())"


def listed(where: Path, *words: str, ordinary: bool, program: str = "git_mile") -> str:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("POSTIL_")}
    if ordinary:
        plain["POSTIL_DEBUG"] = "0"  # any setting turns the shortcut off
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(program), *words],
        cwd=where,
        env=plain,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def full(store: Store, repository: Path) -> Path:
    fill(store, 60, random.Random(2))
    store.index.close()
    return repository


@pytest.mark.parametrize(
    "words",
    [
        ("list", "issue"),
        ("list",),
        ("list", "issue", "label:a", "status:open"),
        ("list", "mile", "--long"),
        (
            "list",
            "issue",
            "--filter",
            'status == "open" and labels contains "a"',
            "--sort",
            "title",
            "--sort",
            "updated:desc",
        ),
        ("list", "issue", "--all", "--format=raw", "--columns", "id,title,author,milestone", "--limit", "7"),
        ("list", "issue", "--filter", "title == nothing-like-it"),
    ],
)
def test_the_shortcut_prints_what_the_ordinary_way_prints(full: Path, words: tuple[str, ...]):
    assert fast_list(None, words[1:], str(full)) is not None
    assert listed(full, *words, ordinary=False) == listed(full, *words, ordinary=True)


def test_words_after_issue_list_are_a_filter_on_both_ways(full: Path):
    words = ("issue", "list", "label:a", "status:open")
    assert fast_list("issue", words[2:], str(full)) is not None
    quick = listed(full, *words, ordinary=False, program="main")
    assert quick == listed(full, *words, ordinary=True, program="main")


def test_random_filters_are_answered_alike(full: Path, store: Store):
    dice = random.Random(4)
    for _ in range(100):
        text = random_filter(dice)
        if "text" in text:
            continue
        found = fast_list(
            "issue", ["--filter", text, "--format", "raw", "--columns", "id", "--limit", "1000"], str(full)
        )
        ordinary = read_page(store.index, "issue", text, (), 1000, None, False, store.now())
        assert found == "\n".join(row.id for row in ordinary.rows), text


@pytest.mark.parametrize(
    "words",
    [
        ["issue", "--json"],
        ["issue", "--cursor", "5"],
        ["issue", "--filter", "nope == 1"],
        ["issue", "--filter", "text ~ x"],
        ["issue", "--limit", "0"],
        ["issue", "--limit", "9" * 5000],
        ["issue", "title == \udce4"],
        ["issue", "--columns", "colour"],
        ["epic"],
        ["issue", "--help"],
    ],
)
def test_what_is_not_simple_takes_the_ordinary_way(full: Path, words: list[str]):
    assert fast_list(None, words, str(full)) is None


def test_a_stale_cache_or_an_odd_repository_takes_the_ordinary_way(full: Path, tmp_path: Path):
    assert fast_list("issue", [], str(full)) is not None
    git(full, "pack-refs", "--all")
    assert fast_list("issue", [], str(full)) is not None
    other = Store(find_repository(str(full)))
    with other.transaction() as tx:
        tx.write(ev.Created, ev.new_entity_id(), kind="issue", title="Newest")
    assert "Newest" in (fast_list("issue", [], str(full)) or "")
    git(full, "update-ref", "refs/postil/remote/x/" + "a" * 13, "refs/postil/log/" + tx.replica)
    assert fast_list("issue", [], str(full)) is None
    assert fast_list("issue", [], str(tmp_path)) is None
    (full / "postil.toml").write_text("")
    assert fast_list("issue", [], str(full)) is None


@pytest.mark.parametrize("name", [".git", ".git/postil", ".git/refs", ".git/objects"])
def test_what_leads_elsewhere_takes_the_ordinary_way(full: Path, tmp_path: Path, name: str):
    assert fast_list("issue", [], str(full)) is not None
    (full / name).rename(tmp_path / "elsewhere")
    (full / name).symlink_to(tmp_path / "elsewhere")
    assert fast_list("issue", [], str(full)) is None


def test_objects_from_elsewhere_take_the_ordinary_way(full: Path):
    (full / ".git" / "objects" / "info" / "alternates").write_text("/nowhere\n")
    assert fast_list("issue", [], str(full)) is None


def test_a_repository_of_another_user_takes_the_ordinary_way(full: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(full).st_uid + 1)
    assert fast_list("issue", [], str(full)) is None


def test_the_shortcut_imports_neither_msgspec_nor_the_application(full: Path):
    code = (
        "import sys; sys.argv = ['git-mile', 'list', 'issue']\n"
        "from postil.surfaces.shell.main import git_mile\n"
        "assert git_mile() == 0\n"
        "names = {'msgspec', 'postil.app', 'asyncio', 'subprocess', 'argparse', 'http', 'postil.wire'}\n"
        "heavy = names & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    plain = {name: value for name, value in os.environ.items() if not name.startswith("POSTIL_")}
    done = subprocess.run([sys.executable, "-c", code], cwd=full, env=plain, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_second_list_for_programs_is_fast_and_the_same(full: Path):
    words = ("issue", "--limit", "7", "--sort", "title")
    assert fast_list(None, [*words, "--json"], str(full)) is None  # nothing was worked out yet
    ordinary = listed(full, "list", *words, "--json", ordinary=True)
    assert listed(full, "list", *words, "--json", ordinary=True) == ordinary
    fast = fast_list(None, [*words, "--json"], str(full))
    assert fast is not None
    assert fast + "\n" == ordinary == listed(full, "list", *words, "--format", "json", ordinary=True)
    id_ = json.loads(ordinary)["items"][0]["id"]
    listed(full, "comment", "issue", id_, "--comment", "news", ordinary=True)
    again = json.loads(listed(full, "list", *words, "--json", ordinary=False))
    assert again["items"][0]["latest_comment_excerpt"] == "news"
