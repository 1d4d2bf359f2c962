"""What became of a span: how its state, its end and its reason follow from where its rows were found."""

from postil.anchor.judge import GONE
from postil.anchor.model import SETTLED, Candidate, Source, Span
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


def test_a_place_in_doubt_is_taken_when_it_leads_back() -> None:
    rows = [f"value_{number} = compute({number})" for number in range(12)]
    search = Search(Page(Source("\n".join(rows))), Page(Source("\n".join(["first = 1", *rows]))))
    look_back = search._look_back  # pyright: ignore[reportPrivateUsage]

    def ask(line: int, confidence: float, row: int) -> float:
        second = Candidate(Span(1), 0.5, "")
        return look_back((Candidate(Span(line), confidence, ""), second), row)[0].confidence

    assert ask(7, 0.6, 5) == 0.85
    assert ask(7, 0.9, 5) == 0.9
    assert ask(8, 0.6, 5) == 0.6  # it leads to the row below
    assert ask(8, 0.9, 5) == 0.71, "less than what is taken without asking"
    assert ask(8, 0.95, 5) == 0.95, "beyond doubt"
    assert ask(7, 0.3, 5) == 0.3, "for a person to say"
    assert ask(7, 0.05, 5) == 0.05
    assert ask(8, 0.05, 5) == GONE / 2, "gone: what is there was another row"


def test_what_leads_elsewhere_is_never_behind_the_others() -> None:
    rows = [f"value_{number} = compute({number})" for number in range(12)]
    search = Search(Page(Source("\n".join(rows))), Page(Source("\n".join(["first = 1", *rows]))))
    given = (Candidate(Span(8), 0.9, ""), Candidate(Span(9), 0.8, ""), Candidate(Span(4), 0.1, ""))
    found = search._look_back(given, 5)  # pyright: ignore[reportPrivateUsage]
    assert [each.confidence for each in found] == [0.71, 0.71, 0.1]
