"""Questions of an operation to the person at the terminal."""

import asyncio
import io

import pytest

from postil.core.call import Question
from postil.core.failure import Failure
from postil.surfaces.shell.output import ShellCall

Capture = pytest.CaptureFixture[str]

ELICITATION = "elicitation/create"

FORM = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "mood": {"type": "string", "enum": ["loud", "soft"]},
        "sure": {"type": "boolean"},
        "note": {"type": "string"},
    },
    "required": ["size", "mood", "sure"],
}


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("three\n3\nloud\ny\n\n", {"action": "accept", "content": {"size": 3, "mood": "loud", "sure": True}}),
        ("3\nx\ny\nz\n", {"action": "decline"}),
        ("", {"action": "decline"}),
    ],
)
def test_a_question_of_an_operation_is_asked_at_the_terminal(
    typed: str, answer: object, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    question = Question(ELICITATION, {"message": "How?", "requestedSchema": FORM})
    assert asyncio.run(ShellCall(interactive=True).ask({"q": question})) == {"q": answer}
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("How?\n")


def test_without_a_person_nothing_is_asked() -> None:
    with pytest.raises(Failure, match="cannot be asked"):
        asyncio.run(ShellCall(interactive=False).ask({"q": Question(ELICITATION)}))
