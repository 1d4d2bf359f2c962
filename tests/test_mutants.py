"""The tests are tested: broken on purpose, the code fails them. Thirty mutants are drawn anew for every tree."""

import json
import re
import subprocess
import sys

import pytest

from scripts import mutants
from tests.needs import ROOT

SAMPLE, LEAST = 30, 27


def tree() -> str:
    """The name of the committed tree: the same commit draws the same mutants."""
    words = ["git", "rev-parse", "HEAD^{tree}"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_of_thirty_mutants_the_tests_notice_twenty_seven() -> None:
    words = [*mutants.GATED, "--sample", str(SAMPLE), "--seed", tree(), "--least", str(LEAST)]
    done = subprocess.run(
        [sys.executable, "-m", "scripts.mutants", *words], cwd=ROOT, capture_output=True, text=True, timeout=590
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_listed_is_a_mutant_and_has_a_reason() -> None:
    listed = mutants.Listed()
    every = {mutant.key for mutant in mutants.every_mutant([], listed=False)}
    assert {*listed.equivalent, *listed.open} - every == set(), "they are no mutants any more: take them off the list"
    assert [key for key, reason in listed.equivalent.items() if len(reason) < 20] == []
    assert not {*listed.equivalent} & {*listed.open}


def test_nine_of_ten_mutants_are_caught() -> None:
    """What no test catches is listed by name; more than a tenth of a package may not be."""
    listed = mutants.Listed()
    for package in mutants.GATED:
        caught_by_none = [key for key in listed.open if key.startswith(package + "/")]
        assert len(caught_by_none) <= len(mutants.every_mutant([package], listed=False)) / 10, package


def test_a_mutant_changes_one_place() -> None:
    path = mutants.SRC / "postil" / "core" / "failure.py"
    original = path.read_bytes()
    made = mutants.mutants_of(path)
    assert made
    for mutant in made:
        changed = original[: mutant.start] + mutant.text.encode() + original[mutant.end :]
        compile(changed, mutant.key, "exec")
        assert changed != original


def test_the_same_seed_draws_the_same_mutants() -> None:
    every = mutants.every_mutant([])
    assert mutants.sample(every, 30, "a") == mutants.sample(every, 30, "a")
    assert mutants.sample(every, 30, "a") != mutants.sample(every, 30, "b")


def test_the_list_is_sorted_so_that_a_change_shows() -> None:
    written = mutants.EQUIVALENT.read_text("utf-8")
    assert json.loads(written) == {"equivalent": mutants.Listed().equivalent, "open": mutants.Listed().open}
    assert mutants.Listed().open == sorted(mutants.Listed().open)
    assert not re.search(r":\d+:", written), "a key has no line number"


def test_the_tests_that_judge_a_package_exist() -> None:
    for package in mutants.PACKAGES:
        assert [str(file) for file in mutants.near(package) if not file.is_file()] == []
