"""A captured screen: its columns, its marked rows, and the panel around a selection."""

from unicodedata import east_asian_width

from postil.inbox.lazygit.screen import find_panels, parse_screen

BLUE, RESET = "\x1b[44m", "\x1b[0m"


def draw(*rows: str, left: str = "files     ") -> str:
    """Two panels side by side; a row that begins with `>` is selected in the right one."""
    width = 30
    drawn = ["╭─Files────╮╭─Diff" + "─" * (width - 5) + "╮"]
    for row in rows:
        text = row.removeprefix(">")
        shown = text + " " * (width - len(text) - sum(east_asian_width(character) == "W" for character in text))
        drawn.append(f"│{left}││{BLUE + shown + RESET if row.startswith('>') else shown}│")
    return "\n".join([*drawn, "╰──────────╯╰" + "─" * width + "╯", "Stage: space"])


def test_the_panel_is_what_stands_inside_its_frame() -> None:
    (panel,) = find_panels(parse_screen(draw(" one", ">+two", " three")))
    assert (panel.rows, panel.first, panel.last) == ((" one", "+two", " three"), 1, 1)


def test_frames_in_the_code_are_code() -> None:
    (panel,) = find_panels(parse_screen(draw("+a │ b ▐", ">+│c│", " ╮╯")))
    assert panel.rows == ("+a │ b ▐", "+│c│", " ╮╯")


def test_wide_characters_fill_two_columns() -> None:
    (panel,) = find_panels(parse_screen(draw(" 日本", ">+漢字 x", left="日本語.txt")))
    assert panel.rows == (" 日本", "+漢字 x")


def test_several_selected_rows_are_one_run() -> None:
    (panel,) = find_panels(parse_screen(draw(" a", ">-b", ">+c", " d")))
    assert (panel.first, panel.last) == (1, 2)


def test_colours_of_the_text_are_no_selection() -> None:
    coloured = "╭──────╮\n│\x1b[38;5;4m+one\x1b[39m  │\n│\x1b[31;1m-two\x1b[0m  │"
    assert find_panels(parse_screen(coloured)) == []
    for code in ("7", "44", "104", "48;5;4", "48;2;1;2;3", "1;44"):
        assert len(find_panels(parse_screen(coloured.replace("\x1b[38;5;4m", f"\x1b[{code}m")))) == 1


def test_without_frames_the_rows_go_to_the_edge() -> None:
    (panel,) = find_panels(parse_screen(f" one\n{BLUE}+two   {RESET}\n three"))
    assert (panel.rows, panel.first) == ((" one", "+two", " three"), 1)
