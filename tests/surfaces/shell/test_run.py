"""One run of the command line: words in, data out, talk beside it."""

import errno
import json
import os

import pytest

from postil.surfaces.composition import Composition
from postil.surfaces.shell.run import run
from tests.surfaces.shell_of_echo import EchoApp, postil

Capture = pytest.CaptureFixture[str]


def test_an_operation_is_a_command_with_positional_words_and_flags(capsys: Capture) -> None:
    assert postil("echo", "say", "hi", "--times", "2", "--json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"text": "hihi", "times": 2}
    assert captured.err == ""


def test_without_json_the_fields_are_readable(capsys: Capture) -> None:
    assert postil("echo", "say", "hi") == 0
    assert capsys.readouterr().out == "text: hi\ntimes: 1\n"


def test_a_result_says_its_direct_form_as_json(capsys: Capture) -> None:
    assert postil("echo", "count", "--by=3", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"counted": 3}


def test_a_value_may_begin_with_a_hyphen(capsys: Capture) -> None:
    assert postil("echo", "count", "--by", "-2", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"counted": -2}
    assert postil("echo", "say", "--", "--times") == 0
    assert "--times" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["echo", "sya"], 2, "Did you mean 'echo say'?"),
        (["ecoh"], 2, "Did you mean 'echo'?"),
        (["echo"], 2, "needs a command"),
        (["echo", "say"], 2, "required: TEXT"),
        (["echo", "say", "a", "--times", "x"], 2, "'x' is not a whole number"),
        (["echo", "say", "a", "--times", "9"], 2, "<= 5"),
        (["echo", "say", "a", "--mood", "luod"], 2, "Did you mean 'loud'?"),
        (["echo", "say", "a", "--tmies", "2"], 2, "There is no flag --tmies. Did you mean '--times'?"),
        (["call", "fail"], 5, "hint: Look elsewhere"),
        (["call", "nothing"], 2, "Unknown operation: nothing"),
        (["call", "echo", "{"], 2, "not JSON"),
        (["call", "echo", "@/nowhere.json"], 2, "cannot be read"),
        (["call", "echo", '{"text": 1}'], 2, "text"),
        (["call", "break"], 1, "POSTIL_DEBUG"),
        (["-C", "/nowhere", "echo", "say", "x"], 2, "not a folder"),
        (["--read-only", "echo", "count"], 3, "`postil echo count` is not offered here"),
        (["--read-only", "echo", "count"], 3, "only reading is allowed\nhint: `read_only` is set by a flag."),
        (["--read-only", "call", "forget"], 3, "forget is not offered here: only reading is allowed"),
        (["call", "ehco"], 2, "Did you mean 'echo'?"),
        (["call", "nothing"], 2, "`postil tools` lists"),
    ],
)
def test_a_fault_is_a_sentence_on_stderr_and_a_status(
    words: list[str], status: int, says: str, capsys: Capture
) -> None:
    assert postil(*words) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert "secret detail" not in captured.err


def test_with_json_a_failure_is_an_object_on_stderr(capsys: Capture) -> None:
    assert postil("call", "fail", "--json") == 5
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["name"] == "NotFound"
    assert error["code"] == -32602
    assert error["data"] == {"what": "it", "suggestion": "Look elsewhere"}


@pytest.mark.parametrize("given", ["[]", "null", '"x"'])
def test_arguments_that_are_no_object_are_refused(given: str, capsys: Capture) -> None:
    assert postil("call", "echo.twice", given) == 2
    assert "Expected `object`" in capsys.readouterr().err


def test_what_the_words_settle_cannot_be_given(capsys: Capture) -> None:
    assert postil("call", "echo.twice", '{"text": "a", "times": 3}') == 2
    assert "unknown field `times`" in capsys.readouterr().err
    assert postil("call", "echo.twice", '{"text": "a"}', "--json") == 0
    assert json.loads(capsys.readouterr().out)["text"] == "aa"


def test_words_that_are_not_utf8_are_refused(capsys: Capture) -> None:
    assert postil("echo", "say", "caf\udce9") == 2
    assert "not valid UTF-8: caf\\xe9" in capsys.readouterr().err


def test_the_same_idempotency_key_has_one_effect_and_one_answer(capsys: Capture) -> None:
    app = EchoApp()
    for _ in range(3):
        assert postil("echo", "count", "--by", "5", "--idempotency-key", "k1", "--json", app=app) == 0
        assert json.loads(capsys.readouterr().out) == {"counted": 5}
    assert app.echo.count == 5
    assert postil("echo", "count", "--by", "6", "--idempotency-key", "k1", app=app) == 6
    assert postil("echo", "say", "x", "--idempotency-key", "k1", app=app) == 2  # a read has no use for one


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_limit_of_the_system_is_said_and_is_no_fault_of_ours(capsys: Capture, number: int) -> None:
    def compose(settings: object) -> Composition:
        raise OSError(number, os.strerror(number))

    assert run(["status"], "postil", compose) == 7
    told = capsys.readouterr().err
    assert os.strerror(number) in told
    assert "ulimit" in told
    assert "unexpected" not in told
