"""The hooks in real assistants: what they print reaches the model. `make hooks` runs more of them, and more events."""

from pathlib import Path

import pytest

from tests.clients.hook_runners import ask, check

pytestmark = pytest.mark.judge


@pytest.mark.slow
@pytest.mark.timeout(330)
@pytest.mark.parametrize(("name", "start"), [("claude", True), ("claude", False), ("codex", True), ("codex", False)])
def test_remarks_reach_the_model_through_the_clients_own_hook_runner(tmp_path: Path, name: str, start: bool) -> None:
    person, asked = ask(tmp_path, name, start=start)
    check(asked)
    assert set(person.states().values()) == {"seen"}
