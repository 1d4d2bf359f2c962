"""Help names every command."""

import pytest

from tests.surfaces.shell_of_echo import postil

Capture = pytest.CaptureFixture[str]


def test_help_names_every_command(capsys: Capture) -> None:
    assert postil("--help") == 0
    shown = capsys.readouterr().out
    assert "echo say" in shown
    assert "completion" in shown
    assert postil("echo", "--help") == 0
    assert "Say it again" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        postil("echo", "say", "--help")
    assert ended.value.code == 0
    assert "What to say" in capsys.readouterr().out
