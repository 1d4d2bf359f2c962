"""The composition root, and that what is generated from the operations is true."""

from pathlib import Path

from postil.app import PARTS, App, describe_part, read_catalogue
from postil.settings import load
from scripts.reference import generated


def test_what_is_generated_has_not_fallen_behind() -> None:
    behind = [path.name for path, text in generated().items() if path.read_text("utf-8") != text]
    assert behind == [], "run `make docs`"


def test_the_catalogue_read_is_the_catalogue_described() -> None:
    for name in PARTS:
        assert read_catalogue([name]) == describe_part(name)


def test_no_two_operations_share_a_name_or_a_command() -> None:
    operations = read_catalogue().operations
    names = [entry.name for entry in operations]
    commands = [entry.shell for entry in operations if entry.shell]
    assert len(set(names)) == len(names)
    assert len(set(commands)) == len(commands)


def test_a_part_is_made_once(tmp_path: Path) -> None:
    app = App(load({"HOME": str(tmp_path)}, str(tmp_path)))
    assert app.registry().part("workspace") is app.registry().part("workspace")
