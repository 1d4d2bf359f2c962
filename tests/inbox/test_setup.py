"""`postil setup lazygit` writes files of its own and nothing else; the doctor finds what is unsafe."""

import json
from pathlib import Path

from tests.inbox.people import Person
from tests.inbox.test_reading import PUBLISHED


def test_it_writes_the_repository_s_own_file_and_takes_it_away_again(person: Person) -> None:
    file = person.root / ".git" / "lazygit.yml"
    said = person.run("postil", "setup", "lazygit")
    assert said.returncode == 0, said.stderr
    assert str(file) in said.stdout
    assert len(said.stdout.splitlines()) <= 12
    printed = person.run("postil", "setup", "lazygit", "--print")
    assert file.read_text() == printed.stdout
    assert person.run("postil", "setup", "lazygit", "--remove").returncode == 0
    assert not file.exists()
    assert person.run("postil", "setup", "lazygit", "--remove").returncode == 0


def test_a_file_of_the_user_is_never_touched(person: Person) -> None:
    file = person.root / ".git" / "lazygit.yml"
    file.write_text("# mine\ngui: {}\n")
    for words in ((), ("--remove",)):
        refused = person.run("postil", "setup", "lazygit", *words)
        assert refused.returncode == 6
        assert "--user" in refused.stderr
    assert file.read_text() == "# mine\ngui: {}\n"


def test_for_all_repositories_it_has_a_file_of_its_own(person: Person) -> None:
    said = person.run("postil", "setup", "lazygit", "--user")
    file = person.config / "postil" / "lazygit.yml"
    assert said.returncode == 0, said.stderr
    assert f"{file}" in said.stdout
    assert "LG_CONFIG_FILE" in said.stdout
    assert "--remove --user" in said.stdout
    assert person.run("postil", "setup", "lazygit", "--remove", "--user").returncode == 0
    assert not file.exists()


def findings(person: Person) -> list[dict[str, str]]:
    code = (
        "import json; from postil.app import App; from postil.settings.load import load; import msgspec\n"
        "print(msgspec.json.encode(App(load()).context('inbox').check_lazygit()).decode())\n"
    )
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=person.root,
        env=person.environment,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return json.loads(done.stdout)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_doctor_finds_the_published_block_and_the_config_that_hides_another(person: Person) -> None:
    assert findings(person)[0]["status"] == "ok"
    write(person.config / "jesseduffield" / "lazygit" / "config.yml", PUBLISHED)
    (unsafe,) = findings(person)
    assert unsafe["status"] == "error"
    assert "line 8" in unsafe["seen"]
    assert "postil setup lazygit" in unsafe["fix"]
    write(person.config / "lazygit" / "config.yml", "gui: {}\n")
    assert [finding["status"] for finding in findings(person)] == ["error", "warning"]


def test_the_doctor_reads_the_files_that_lazygit_is_told_to_merge(person: Person, tmp_path: Path) -> None:
    write(tmp_path / "extra.yml", PUBLISHED)
    person.environment["LG_CONFIG_FILE"] = f"{tmp_path}/none.yml,{tmp_path}/extra.yml"
    (unsafe,) = findings(person)
    assert str(tmp_path / "extra.yml") in unsafe["seen"]
    doctor = person.run("postil", "doctor")
    assert "would be run as a command" in doctor.stdout


def test_the_doctor_is_content_with_our_own_binding(person: Person) -> None:
    person.run("postil", "setup", "lazygit")
    (finding,) = findings(person)
    assert (finding["status"], finding["seen"]) == ("ok", "the binding is safe")
