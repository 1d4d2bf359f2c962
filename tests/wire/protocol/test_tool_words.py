"""Advice names tools to models, commands to people."""

import pytest

from postil.wire.protocol.tool_words import say_tools

TOOLS = {"inbox list": "inbox_list", "comments move": "move_comment", "mile verify": "issue_verify"}


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        ("`postil inbox list` shows those that are open", "`inbox_list` shows those that are open"),
        ("Tie it with `postil comments move`", "Tie it with `move_comment`"),
        ("Tie it with `postil comments move ID FILE`", "Tie it with `move_comment`"),
        ("Run `git mile verify`; then `git fetch`", "Run `issue_verify`; then `git fetch`"),
        ("Use `postil inbox reopen` to open it", "Use `postil inbox reopen` to open it"),
        ("Run `postil comments check --fix`", "Run `postil comments check --fix`"),
        ("Nothing to say", "Nothing to say"),
    ],
)
def test_a_command_that_is_a_tool_here_is_called_by_its_name(advice: str, said: str) -> None:
    assert say_tools(advice, lambda command: TOOLS.get(command, "")) == said
