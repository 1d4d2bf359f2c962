"""The board as a person sees it: keys in a real terminal, while another process writes."""

from __future__ import annotations

from pathlib import Path

from postil.tracker.board.lanes import read_lanes
from postil.tracker.board.visit import Visit
from postil.tracker.text import measure
from tests.tracker.board.terminals import Screen
from tests.tracker.groups import Tracker
from tests.tracker.programs import answered, git, said

SIZE = (120, 30)


def visit_by_status(tracker: Tracker) -> Visit:
    return Visit(tracker.issues, read_lanes(tracker.issues, "status"), "status", (), "", colors=False)


def press(visit: Visit, *keys: str) -> str:
    for key in keys:
        visit.press(key, SIZE)
    return "\n".join(visit.draw(*SIZE))


def test_a_board_is_driven_by_keys_and_lives_while_another_process_writes(repository: Path) -> None:
    crash = answered(repository, "create", "issue", "Crash on start", "--label", "bug")["id"]
    said(repository, "create", "issue", "日本語のタイトルはとても長いので切られるはずです、そうでしょう")
    said(repository, "create", "milestone", "1.0")
    with Screen(repository, "board", program="main") as screen:
        screen.see("open 2", "▶ Crash on start", "? help")
        screen.press(">")
        screen.see("in progress 1", "@Tester", "Moved to in progress")
        assert answered(repository, "show", crash)["claim"]["who"] == "Tester"
        screen.press(">")
        screen.see("closed 1")
        assert answered(repository, "show", crash)["status"] == "closed"
        screen.press("u")
        screen.see("in progress 1", "closed 0", "Back in")
        said(repository, "create", "issue", "Written by another")  # a process of its own
        screen.see("open 2", "Written by another")
        git(repository, "pack-refs", "--all")
        said(repository, "close", crash)
        screen.see("closed 1")
        screen.press("?")
        screen.see("undo your last move")
        screen.press("q")
        screen.miss("undo your last move")
        screen.resize(44, 14)
        lines = screen.see("of 4 ›")
        assert all(measure(line) <= 44 for line in lines)
        screen.resize(12, 4)
        screen.see("Too small")
        screen.resize(100, 20)
        screen.see("draft 0", "closed 1")
        screen.press("b")
        screen.see("by label", "others 2")
        screen.press("b")
        screen.see("by milestone", "1.0 0")
        screen.type("/written")
        screen.press("Enter")
        screen.miss("日本")
        screen.see("Written by another")
        screen.press("Enter")
        screen.see("Written by another [open]", "By Tester")
        screen.press("q")
        screen.see("by milestone")
        screen.press("q")
        screen.see("ended 0 icanon")  # lines are edited as before
        assert not any("\x1b" in line for line in screen.read())


def test_moves_by_arrows_choose_and_a_refused_one_is_told(tracker: Tracker) -> None:
    for title in ("One", "Two"):
        tracker.tools.create(title)
    tracker.plan.claim(tracker.tools.create("Of bob").id, who="bob")
    visit = visit_by_status(tracker)
    assert "▶ One" in press(visit)
    assert "▶ Two" in press(visit, "down", "down")
    assert "There is no column on that side" in press(visit, "shift-left", "shift-left", "shift-left")
    assert "▶ Of bob" in press(visit, "right", "right")
    assert "bob" in press(visit, "<").split("\n")[-1]
    assert "No key z" in press(visit, "z")
    press(visit, "q")
    assert visit.over


def test_a_wrong_filter_is_told_and_the_old_one_stays(tracker: Tracker) -> None:
    tracker.tools.create("Crash")
    tracker.tools.create("Else")
    visit = visit_by_status(tracker)
    assert "Else" not in press(visit, "/", *"crush", "backspace", "backspace", "backspace", *"ash", "enter")
    shown = press(visit, "/", "ctrl-u", *"status ==", "enter")
    assert "Crash" in shown
    assert "Else" not in shown
    assert "position" in shown.split("\n")[-1]
    assert "Else" in press(visit, "/", "ctrl-u", "enter")


def test_undo_is_of_this_board_alone(tracker: Tracker) -> None:
    tracker.tools.create("One")
    visit = visit_by_status(tracker)
    assert "nothing to undo" in press(visit, "u")
    assert "nothing to undo" in press(visit, ">", "b", "u")


def test_a_card_that_somebody_took_away_leaves_the_board(tracker: Tracker) -> None:
    id_ = tracker.tools.create("One").id
    visit = visit_by_status(tracker)
    tracker.history.delete(id_)
    assert "Entity not found" in press(visit, "enter")
    assert "▶" not in press(visit, "r")
    assert "There is no card to move" in press(visit, ">")
