"""A person in real lazygit presses a key and types a remark; the assistant receives it with its line and its hunk.

`make lazygit` drives every version; here it is the oldest and the newest, and each of them has to start.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from postil.inbox.lazygit.binding import EDITOR_KEY, SUBMIT_KEY, TALK_KEY
from postil.inbox.lazygit.start_check import find_fault
from tests.e2e.lazygit import VERSIONS, needs_lazygit, open_lazygit
from tests.e2e.lines import remark_on_random_lines
from tests.e2e.stories import check_review, check_six_places, make_reviewer, remark_in_six_places, review_with_keys
from tests.inbox.examples import BROKEN, PUBLISHED
from tests.inbox.people import Person, git

NASTY = 'It\'s "bad": $(touch pwned) `touch pwned` 日本 {{.X}} \\n; rm -rf | & < >'
NEWEST = VERSIONS[-1]
LAST_WITH_STAGING = "0.65.1"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.fixture
def reviewer(tmp_path: Path) -> Person:
    return make_reviewer(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("version", [VERSIONS[0], NEWEST])
def test_a_remark_lands_where_it_was_meant_in_all_six_places(reviewer: Person, version: str) -> None:
    remark_in_six_places(reviewer, version)
    check_six_places(reviewer)


@pytest.mark.slow
@pytest.mark.parametrize("version", [VERSIONS[0], NEWEST])
def test_drafts_typed_in_the_editor_too_are_sent_as_one_review_by_a_key(reviewer: Person, version: str) -> None:
    review_with_keys(reviewer, version)
    check_review(reviewer)


@pytest.mark.parametrize("version", VERSIONS)
def test_lazygit_binds_none_of_the_keys_that_are_ours_everywhere(version: str) -> None:
    shown = subprocess.run([needs_lazygit(version), "--config"], capture_output=True, text=True, check=True).stdout
    bound = {row.rpartition(" ")[2].strip("'\"").replace("ctrl+", "c-") for row in shown.splitlines()}
    assert "<c-y>" in bound  # the way they are written is known; this one is of the branches alone
    assert not bound & {TALK_KEY, EDITOR_KEY, SUBMIT_KEY}  # a panel's own key would hide ours there


@pytest.mark.slow
def test_a_remark_lands_on_the_line_under_the_cursor(tmp_path: Path) -> None:
    assert remark_on_random_lines(tmp_path, NEWEST, 6) == (6, [])


@pytest.mark.slow
def test_a_nasty_remark_on_a_hostile_file_name_is_only_words(reviewer: Person) -> None:
    name = "$(touch pwned)`touch pwned`'q' \"x\".txt"
    git(reviewer.root, "reset", "-q", "--hard")
    (reviewer.root / name).write_text("one\n")
    with open_lazygit(reviewer, NEWEST) as lazygit:
        lazygit.see("?? $(touch pwned)", "+one")
        lazygit.remark("the whole of $(touch pwned)", f"1: {NASTY}", 1)
    assert not (reviewer.root / "pwned").exists()
    with reviewer.assistant() as assistant:
        result = assistant.call("check_lazygit_messages")
    assert f"Message 1:\nFile: {name}\nLine: 1\nComment: {NASTY}\n" in result["content"][0]["text"]


@pytest.mark.slow
def test_the_published_block_works_unchanged(reviewer: Person) -> None:
    with open_lazygit(reviewer, "0.50.0", PUBLISHED, set_up=False) as lazygit:
        lazygit.see("MM code.txt", "+line SEVEN")
        lazygit.press_until("Enter", "Staged changes")
        lazygit.press_until("C-y", "Comment:")
        lazygit.type("as ever")
        lazygit.press("Enter")
        with reviewer.assistant("postil", "serve") as assistant:
            result = assistant.call("inbox_wait", seconds=20)
    assert "]\n#1 leased  code.txt\n    as ever\n" in result["content"][0]["text"]


# -- starting -----------------------------------------------------------------------------------------------------


def use(person: Person, version: str) -> str:
    program = needs_lazygit(version)
    person.environment["PATH"] = f"{Path(program).parent}{os.pathsep}{os.environ['PATH']}"
    return program


def diagnose(person: Person, *flags: str) -> list[dict[str, str]]:
    done = person.run("postil", "doctor", "--json", *flags)
    return [row for row in json.loads(done.stdout) if row["name"] == "lazygit"]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_starts_with_the_binding_written_for_it(person: Person, version: str) -> None:
    program = use(person, version)
    assert person.run("postil", "setup", "lazygit").returncode == 0
    assert find_fault(program, [str(person.root / ".git" / "lazygit.yml")]) == ""


def test_a_file_that_an_earlier_setup_broke_is_found_and_mended(person: Person) -> None:
    program = use(person, NEWEST)
    file = person.root / ".git" / "lazygit.yml"
    file.write_text(BROKEN)
    assert "already defined" in find_fault(program, [str(file)])
    (old, broken) = diagnose(person)
    assert (old["status"], broken["status"]) == ("warning", "error")
    assert "lazygit does not start" in broken["seen"]
    assert [row["status"] for row in diagnose(person, "--fix")] == ["ok"]
    assert find_fault(program, [str(file)]) == ""
    file.write_text(BROKEN)
    assert person.run("postil", "setup", "lazygit").returncode == 0
    assert find_fault(program, [str(file)]) == ""


def test_after_an_upgrade_the_doctor_writes_the_binding_anew(person: Person) -> None:
    use(person, LAST_WITH_STAGING)
    assert person.run("postil", "setup", "lazygit", "--key", "<c-t>").returncode == 0
    assert [row["status"] for row in diagnose(person)] == ["ok"]
    program = use(person, NEWEST)
    assert [row["status"] for row in diagnose(person)] == ["warning", "error"]
    assert [row["status"] for row in diagnose(person, "--fix")] == ["ok"]
    file = person.root / ".git" / "lazygit.yml"
    assert find_fault(program, [str(file)]) == ""
    assert '"<c-t>"' in file.read_text()  # the person's key stays


def test_the_doctor_says_what_of_the_published_block_stops_the_newest(person: Person) -> None:
    use(person, NEWEST)
    own = person.config / "lazygit" / "config.yml"
    own.parent.mkdir(parents=True)
    own.write_text(PUBLISHED)
    unsafe, stops = diagnose(person)
    assert "would be run as a command" in unsafe["seen"]
    assert f"{own}" in stops["seen"]
    assert "Unknown context 'staging'" in stops["seen"]
    assert "normalSecondary" in stops["fix"]


def test_a_fault_in_the_persons_own_file_is_not_said_to_be_ours_to_mend(person: Person) -> None:
    use(person, NEWEST)
    assert person.run("postil", "setup", "lazygit").returncode == 0
    own = person.config / "lazygit" / "config.yml"
    own.parent.mkdir(parents=True)
    own.write_text("gui:\n\tshowFileTree: false\n")  # a tab
    (found,) = diagnose(person)
    assert "lazygit does not start" in found["seen"]
    assert found["fix"] == f"The fault is in a file of your own ({own}): mend what lazygit says there"


def test_a_missing_file_that_the_environment_names_stops_lazygit_and_is_said(person: Person) -> None:
    use(person, NEWEST)
    person.environment["LG_CONFIG_FILE"] = "/nowhere/x.yml"
    (found,) = diagnose(person)
    assert (found["status"], found["seen"]) == (
        "error",
        "LG_CONFIG_FILE names /nowhere/x.yml, which is no file: lazygit does not start",
    )


def test_files_that_the_environment_names_stay_in_what_is_told(person: Person) -> None:
    person.environment["LG_CONFIG_FILE"] = "/my/one.yml,/my/two.yml"
    done = person.run("postil", "setup", "lazygit", "--user")
    ours = person.config / "postil" / "lazygit.yml"
    assert f'export LG_CONFIG_FILE="/my/one.yml,/my/two.yml,{ours}"' in done.stdout
    person.environment["LG_CONFIG_FILE"] = f"/my/one.yml,{ours}"
    assert "names it already" in person.run("postil", "setup", "lazygit", "--user").stdout


def test_a_link_to_a_file_that_somebody_keeps_elsewhere_is_left_alone(person: Person) -> None:
    kept = person.root.parent / "dotfiles.yml"
    kept.write_text(person.run("postil", "setup", "lazygit", "--print").stdout)
    link = person.root / ".git" / "lazygit.yml"
    link.symlink_to(kept)
    before = kept.read_text()
    for words in (["setup", "lazygit", "--key", "<c-t>"], ["setup", "lazygit", "--remove"]):
        refused = person.run("postil", *words)
        assert (refused.returncode, "was left as it is" in refused.stderr) == (6, True)
    person.run("postil", "setup", "lazygit", "--fix")
    assert link.is_symlink()
    assert kept.read_text() == before


def test_for_all_repositories_it_works_without_a_config_of_ones_own(person: Person) -> None:
    program = use(person, NEWEST)
    done = person.run("postil", "setup", "lazygit", "--user")
    (told,) = [line for line in done.stdout.splitlines() if "LG_CONFIG_FILE" in line]
    named = told.split('"')[1]
    assert named == str(person.config / "postil" / "lazygit.yml")
    assert find_fault(program, named.split(",")) == ""
