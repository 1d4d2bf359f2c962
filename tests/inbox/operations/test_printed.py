"""What programs go on with is not changed on its way to them."""

from __future__ import annotations

from postil.core.answer import Verbatim
from postil.inbox.operations.printed import PrintedDocument


def test_a_document_goes_on_as_it_stands() -> None:
    assert isinstance(PrintedDocument("a\x1b").for_person(), Verbatim)
    assert PrintedDocument("a\x1b").for_model() == "a\x1b"
