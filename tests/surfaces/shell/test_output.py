"""What only a terminal gets: progress, the pager, and nothing that steers it."""

import json
import re
import subprocess
from pathlib import Path

from tests.surfaces.programs import BIN, run
from tests.surfaces.terminals import Terminal, postil


def test_progress_is_drawn_on_a_terminal_and_taken_away(repository: Path) -> None:
    terminal = Terminal()
    done = postil(
        "workspace", "check", cwd=repository, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal.slave
    )
    assert done.stdout == b"1 tracked file, all in order\n"
    shown = terminal.shown()
    assert "100%" in shown
    assert shown.endswith("\r\x1b[K")


def test_long_answers_are_paged_on_a_terminal_only(repository: Path) -> None:
    terminal = Terminal(rows=2)
    postil("tools", cwd=repository, stdin=subprocess.DEVNULL, stdout=terminal.slave)
    piped = postil("tools", cwd=repository, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert "PAGED:workspace_info" in terminal.shown()
    assert piped.stdout.startswith(b"workspace_info")


HOSTILE = "ok\x1b]0;owned\x07 \x9b31m \u202eevil"


def test_others_words_cannot_steer_the_terminal(repository: Path) -> None:
    postil(
        "inbox",
        "send",
        "-f",
        "a.py",
        "-c",
        HOSTILE,
        cwd=repository,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    terminal = Terminal()
    postil("inbox", "list", cwd=repository, stdin=subprocess.DEVNULL, stdout=terminal.slave)
    shown = terminal.shown()
    assert "ok\\x1b]0;owned\\x07 \\x9b31m \\u202eevil" in shown
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    refused = run("postil", "inbox", "send", "-c", "x", "-f", "no\x1b[31m.py", cwd=repository)
    assert "\x1b" not in refused.stderr


HIDDEN = {"\x07", "\x1b", "\x9b", "\u200b", "\u202e"}
HIDING = "stop \x1b]52;c;ZXZpbA==\x07 \x9b31m \u202eevil\u200b"


def leave_hostile_words(repository: Path) -> str:
    """Returns the id of a comment, beside which a remark and an issue say the same."""
    made = json.loads(run("postil", "comments", "add", "a.py", "1", "stop", "--json", cwd=repository).stdout)
    sidecar = repository / "a.py.comments"
    held = json.loads(sidecar.read_text())
    held["comments"][0] |= {"text": HIDING, "author": HIDING}
    sidecar.write_text(json.dumps(held))
    run("postil", "inbox", "send", "-f", "a.py", "-c", HIDING, cwd=repository)
    run("postil", "issue", "create", "stop \u202eevil\u200b", "-d", HIDING, cwd=repository)
    return str(made["commentId"])


def test_what_hides_in_others_words_is_visible_in_a_pipe_too(repository: Path) -> None:
    """Behind it is a pager, or the log of a CI job."""
    comment = leave_hostile_words(repository)
    [issue] = json.loads(run("postil", "issue", "list", "--json", cwd=repository).stdout)["items"]
    for words in (
        ("comments", "list"),
        ("comments", "show", comment),
        ("comments", "view", "a.py"),
        ("comments", "ci", "--base", "HEAD"),
        ("comments", "blame", comment),
        ("inbox", "list"),
        ("inbox", "talk"),
        ("issue", "list"),
        ("issue", "list", "--format", "raw"),
        ("issue", "show", issue["id"]),
        ("issue", "log", issue["id"]),
        ("call", "list_comments"),
    ):
        done = run("postil", *words, cwd=repository)
        assert not HIDDEN & {*done.stdout, *done.stderr}, (words, done.stdout, done.stderr)
    shown = run("postil", "comments", "view", "a.py", cwd=repository).stdout
    assert "stop \\x1b]52;c;ZXZpbA==\\x07 \\x9b31m \\u202eevil\\u200b" in shown


def test_documents_for_programs_stay_as_they_are_in_a_pipe(repository: Path) -> None:
    leave_hostile_words(repository)
    for words in (
        ("comments", "list", "--json"),
        ("comments", "export", "json"),
        ("inbox", "list", "--json"),
        ("issue", "list", "--json"),
        ("issue", "list", "--format", "json"),
        ("issue", "export"),
    ):
        held = json.loads(run("postil", *words, cwd=repository).stdout)
        assert "\u202eevil\u200b" in json.dumps(held, ensure_ascii=False), words
    for words in (("issue", "export", "--format", "markdown"), ("comments", "export", "csv"), ("inbox", "export")):
        assert "\u202eevil\u200b" in run("postil", *words, cwd=repository).stdout, words


def test_json_on_a_terminal_holds_the_same_data_and_nothing_hidden(repository: Path) -> None:
    leave_hostile_words(repository)
    shown = on_a_terminal("comments", "list", "--json", cwd=repository)
    assert not HIDDEN & set(shown)
    assert json.loads(shown) == json.loads(run("postil", "comments", "list", "--json", cwd=repository).stdout)


def test_a_picture_goes_to_a_file_and_not_to_a_terminal(repository: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n\x1b]0;steered\x07\x9b31m"
    (repository / "p.png").write_bytes(picture)
    shown = on_a_terminal("workspace", "picture", "p.png", cwd=repository)
    assert "steered" not in shown
    assert subprocess.check_output([BIN / "postil", "workspace", "picture", "p.png"], cwd=repository) == picture


def test_nothing_that_others_write_is_a_colour(repository: Path) -> None:
    run("postil", "comments", "add", "a.py", "1", "look", "-t", "TODO", cwd=repository)
    sidecar = repository / "a.py.comments"
    held = json.loads(sidecar.read_text())
    held["comments"][0] |= {
        "text": "look\n   1 + [NOTE] x\n  9999  app.py:1  [NOTE]  root: fake row",
        "author": "ann\n 8888 x.py:1 [NOTE] boss",
    }
    sidecar.write_text(json.dumps(held))
    issue = json.loads(
        run("postil", "issue", "create", "see [closed]", "-d", "[TODO]", "--json", cwd=repository).stdout
    )
    for words, real in (
        (("comments", "list"), "[\x1b[33mTODO\x1b[0m]"),
        (("comments", "view", "a.py"), "[\x1b[33mTODO\x1b[0m]"),
        (("issue", "show", issue["id"]), "[\x1b[32mopen\x1b[0m]"),
    ):
        shown = on_a_terminal(*words, cwd=repository)
        assert real in shown, words
        assert not re.search(r"\[\x1b\[\d+m(NOTE|closed)", shown), shown
        assert re.search(r"\[(NOTE|closed)\]", shown), shown
    said = run("postil", "comments", "view", "a.py", "--json", cwd=repository, FORCE_COLOR="1").stdout
    assert "\ufdd0" not in json.loads(said)["text"]


def on_a_terminal(*words: str, cwd: Path, rows: int = 24) -> str:
    terminal = Terminal(rows)
    postil(*words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=terminal.slave)
    return terminal.shown()


def test_a_terminal_is_told_how_long_ago_and_a_pipe_when(repository: Path) -> None:
    sent = json.loads(run("postil", "inbox", "send", "-f", "a.py", "-c", "look", "--json", cwd=repository).stdout)["id"]
    run("postil", "inbox", "reply", str(sent), "-m", "here", cwd=repository)
    run("postil", "comments", "add", "a.py", "1", "words", "-t", "TODO", cwd=repository)
    [comment] = json.loads(run("postil", "comments", "list", "--json", cwd=repository).stdout)["comments"]
    run("postil", "comments", "reply", comment["id"], "well", cwd=repository)
    issue = json.loads(run("postil", "issue", "create", "T", "-d", "text", "--json", cwd=repository).stdout)["id"]
    run("postil", "issue", "comment", issue, "-m", "said", cwd=repository)
    run("postil", "key", "create", "ann", cwd=repository)
    for words in (
        ("inbox", "list"),
        ("inbox", "show", str(sent)),
        ("comments", "list"),
        ("comments", "show", comment["id"]),
        ("comments", "search", "words"),
        ("comments", "view", "a.py"),
        ("comments", "blame", comment["id"]),
        ("issue", "list"),
        ("issue", "show", issue),
        ("issue", "log", issue),
        ("key", "list"),
    ):
        shown, piped = on_a_terminal(*words, cwd=repository), run("postil", *words, cwd=repository).stdout
        assert re.search(r"just now|\d+ (second|minute|hour)s? ago", shown), (words, shown)
        assert not re.search(r"\d{4}-\d\d-\d\d", shown), (words, shown)
        assert re.search(r"\d{4}-\d\d-\d\d", piped), (words, piped)
        assert " ago" not in piped, (words, piped)
    assert '"created"' in on_a_terminal("comments", "list", "--json", cwd=repository)


def test_what_is_typed_first_fits_one_screen(repository: Path) -> None:
    rows = on_a_terminal(cwd=repository).rstrip("\r\n").split("\r\n")
    assert len(rows) < 24  # the prompt stands below
    assert max(map(len, rows)) <= 80
    assert any(row.lstrip().startswith("postil init") for row in rows)


def test_who_forces_colours_gets_them_in_a_pipe_too(repository: Path) -> None:
    run("postil", "issue", "create", "T", cwd=repository)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        assert "\x1b[32m" in run("postil", "issue", "list", cwd=repository, **{name: "1"}).stdout
    assert "\x1b" not in run("postil", "issue", "list", cwd=repository).stdout
    assert "\x1b" not in run("postil", "issue", "list", cwd=repository, FORCE_COLOR="0").stdout
