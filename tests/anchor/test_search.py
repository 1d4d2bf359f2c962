"""What became of a span: how its state, its end and its reason follow from where its rows were found."""

from postil.anchor.model import SETTLED, Source, Span
from postil.anchor.other_files import OtherFiles
from postil.anchor.page import Page
from postil.anchor.search import Search

OLD = "".join(f"def function_{number}(value):\n    return value + {number}\n\n\n" for number in range(8))


def search(new: str, **options: object) -> Search:
    return Search(Page(Source(OLD, "a.py")), Page(Source(new, "a.py")), **options)  # type: ignore[arg-type]


def test_a_span_past_the_end_is_orphaned_and_says_so() -> None:
    (found,) = search(OLD).relocate([Span(1000)])
    assert (found.state, found.span) == ("orphaned", None)
    assert "past the end" in found.reason


def test_nothing_alike_left_is_orphaned() -> None:
    (found,) = search("").relocate([Span(2)])
    assert (found.state, found.span, found.new_text) == ("orphaned", None, "")


def test_a_moved_span_says_by_how_much_and_keeps_its_end() -> None:
    (found,) = search("import os\n\n" + OLD).relocate([Span(5, 6)])
    assert (found.state, found.span, found.reason) == ("moved", Span(7, 8), "moved by +2 lines")
    assert found.old_text == found.new_text


def test_a_row_is_ranked_once_and_beyond_doubt_it_is_settled() -> None:
    asked = search("import os\n" + OLD)
    assert asked.rank(5) is asked.rank(5)
    assert asked.rank(5) == [(SETTLED, 6)]
    assert asked.weigh(5) == ([], [])


def test_code_that_left_its_file_is_found_in_another() -> None:
    gone = OLD.replace("def function_3(value):\n    return value + 3\n\n\n", "")
    others = OtherFiles([Source("x = 1\n", "x.py"), Source("def function_3(value):\n    return value + 3\n", "b.py")])
    (found,) = search(gone, elsewhere=others).relocate([Span(13)])
    assert found.path in ("", "b.py")
    assert "b.py" in {found.path, *(each.path for each in found.candidates)}


def test_a_fragment_counts_from_where_it_was() -> None:
    fragment = Page(Source("\n".join(OLD.split("\n")[8:12]), "a.py"))
    (found,) = Search(fragment, Page(Source(OLD, "a.py")), shift=8).relocate([Span(1)])
    assert (found.state, found.span) == ("exact", Span(9, 9))
