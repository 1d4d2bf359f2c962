"""`postil setup lazygit` writes files of its own and nothing else."""

from tests.inbox.people import Person


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
