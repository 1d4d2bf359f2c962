"""Prompts: arguments come as text, and are listed with what may stand in them."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from msgspec import Meta

from postil.core.arguments.published import list_arguments
from postil.core.content import Message, Text
from postil.core.failure import InvalidArguments
from postil.core.prompt import Prompt, PromptArgument, as_messages, prompt


class Prompts:
    """One prompt with arguments of several kinds."""

    @prompt("review", title="Review")
    def review(
        self,
        path: Annotated[str, Meta(description="Which file")],
        lines: int = 10,
        strict: bool = False,
        style: Literal["short", "long"] = "short",
    ) -> str:
        """Ask for a review"""
        return f"{path} {lines} {strict} {style}"


def test_numbers_and_truths_are_read_from_text() -> None:
    decoded = Prompt(Prompts().review).decode({"path": "a.py", "lines": "3", "strict": "true"})
    assert decoded == {"path": "a.py", "lines": 3, "strict": True, "style": "short"}


@pytest.mark.parametrize(
    "arguments", [{}, {"path": "a", "lines": "x"}, {"path": "a", "style": "odd"}, {"path": "a", "x": "y"}, []]
)
def test_arguments_that_do_not_fit_are_refused(arguments: object) -> None:
    with pytest.raises(InvalidArguments, match="Invalid prompt arguments"):
        Prompt(Prompts().review).decode(arguments)


def test_arguments_are_listed_with_their_defaults_and_choices() -> None:
    assert list_arguments(Prompts.review) == [
        PromptArgument("path", "Which file", True),
        PromptArgument("lines", "", False, 10),
        PromptArgument("strict", "", False, False),
        PromptArgument("style", "", False, "short", ["long", "short"]),
    ]


def test_a_text_is_one_message_of_the_user_and_messages_stay_as_they_are() -> None:
    assert as_messages("Please review") == [Message("user", Text("Please review"))]
    both = [Message("user", Text("a")), Message("assistant", Text("b"))]
    assert as_messages(both) is both


def test_a_prompt_knows_whether_its_method_is_awaited() -> None:
    class Later:
        """A prompt that waits."""

        @prompt("wait")
        async def wait(self) -> str:
            """Wait"""
            return "now"

    assert (Prompt(Prompts().review).is_async, Prompt(Later().wait).is_async) == (False, True)
