"""What became of a span: how its state, its end and its reason follow from where its rows were found."""

import pytest

from postil.anchor.model import SETTLED, Candidate, Source, Span
from postil.anchor.other_files import OtherFiles
from postil.anchor.page import Page
from postil.anchor.relocate import relocate, relocate_all
from postil.anchor.search import Search

pytestmark = pytest.mark.usefixtures("unhurried")

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


ROWS = [f"value_{number} = compute({number})" for number in range(12)]


def pair(old: list[str], new: list[str]) -> Search:
    return Search(Page(Source("\n".join(old))), Page(Source("\n".join(new))))


def test_what_is_told_of_a_place_in_doubt_says_whether_it_leads_back() -> None:
    """A row that was deleted resembles one that has an origin of its own."""
    new = ["before_all()", *ROWS[:4], "value_5 = derive(other)", "value_6 = derive(other)", *ROWS[8:]]
    mine, other, _ = _origins(pair(ROWS, new).describe(5))
    assert mine > other
    mine, other, leads = _origins(pair(ROWS, new).describe(4))
    assert (mine < other, leads) == (True, 0.0), "what resembles it was value_5"


def _origins(told: list[float]) -> list[float]:
    """What describe says of the first: how likely it was the row, how likely another, whether it leads back."""
    assert len(told) == 30
    return told[15:18]


def test_nothing_is_told_of_rows_that_were_not_weighed() -> None:
    settled = pair(ROWS, ["first = 1", *ROWS])
    assert settled.describe(5) == []
    assert pair([*ROWS, "}", *ROWS], ["}", *ROWS[3:]]).describe(12) == []
    fragment = Search(Page(Source("\n".join(ROWS[3:6]))), Page(Source("\n".join(ROWS[4:]))), shift=3)
    assert fragment.describe(0) == []


FUNCTION = ["def load(path):", "    lines = read_all(path)", "    first = lines[0]", "    return parse(first)"]


def test_the_only_row_of_its_kind_is_where_it_was_under_the_same_row() -> None:
    new = ["import os", FUNCTION[0], "    with_care()", FUNCTION[2], "    and_more()", "    return parse_all(lines)"]
    asked = pair(FUNCTION, new)
    assert asked.rank(2) == [(0.97, 3)]
    assert asked.describe(2) == [], "it was not weighed"


def test_the_only_row_of_its_kind_is_measured_where_it_is_under_another_row() -> None:
    elsewhere = ["def other(name):", "    with_care(name)", FUNCTION[2], "    and_more()"]
    assert len(pair(FUNCTION, [*elsewhere, "", *FUNCTION[:2], FUNCTION[3]]).rank(2)) > 1
    outermost = pair(["a()", "package main", "b()"], ["c()", "package main", "d()"])
    assert outermost.describe(1), "what stands at the outermost level may be of another file"


def test_a_function_that_others_are_in_is_where_the_only_one_of_its_name_is() -> None:
    old = "def load(path):\n    first = read(path)\n    return parse(first)\n"
    new = "import os\n\n\ndef load(path, strict=True):\n    first = read_now(path)\n    return parse_all(first)\n"
    asked = Search(Page(Source(old, "a.py")), Page(Source(new, "a.py")))
    asked.rank(1)
    assert asked._recall(0) == [(0.93, 3)]  # pyright: ignore[reportPrivateUsage]
    assert asked.rank(0)[0][1] == 3
    assert len(asked.rank(0)) > 1, "asked for itself, it is weighed"
    twice = Search(Page(Source(old, "a.py")), Page(Source(new + new, "a.py")))
    twice.rank(1)
    assert len(twice._recall(0)) > 1, "of two of its name"  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("said", "again", "now"), [(0.5, 0.8, 0.8), (0.5, 0.001, 0.001), (0.95, 0.1, 0.95), (0.01, 0.9, 0.01)]
)
def test_only_a_place_in_doubt_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, said: float, again: float, now: float
) -> None:
    def answer(_: list[float]) -> float:
        return again

    monkeypatch.setattr("postil.anchor.search.judge_again", answer)
    search = pair(ROWS, [*ROWS[:5], "value_6 = compute_now(6, 6)", *ROWS[7:]])
    given = (Candidate(Span(6), said, ""), Candidate(Span(9), min(said, 0.4), ""))
    found = search._look_again(given, 5, 5)  # pyright: ignore[reportPrivateUsage]
    assert [each.confidence for each in found] == [now, min(now, 0.4, said)], "none is likelier than the first"


@pytest.mark.parametrize(("again", "now"), [(0.8, 0.71), (0.9, 0.9), (0.5, 0.5), (0.001, 0.001)])
def test_a_row_that_was_copied_is_taken_only_when_its_place_is_sure(
    monkeypatch: pytest.MonkeyPatch, again: float, now: float
) -> None:
    search = pair(ROWS, [*ROWS[:5], "other()", ROWS[5], "more()", *ROWS[7:], ROWS[5], "last()"])
    monkeypatch.setattr(search, "_judge_again", {5: again}.__getitem__)
    (found,) = search._look_again((Candidate(Span(7), 0.5, ""),), 5, 5)  # pyright: ignore[reportPrivateUsage]
    assert found.confidence == now


def test_an_else_of_a_function_that_is_gone_does_not_go_to_another_one() -> None:
    old = (
        "import json\n\n\ndef fill(kwargs, app=None):\n    if app:\n"
        '        kwargs.setdefault("cls", app.json_encoder)\n        kwargs.setdefault("sort_keys", app.sorted)\n'
        '    else:\n        kwargs.setdefault("sort_keys", True)\n        kwargs.setdefault("cls", JSONEncoder)\n\n\n'
        "def dump(obj, fp, app=None, **kwargs):\n    fill(kwargs, app)\n    fp.write(json.dumps(obj, **kwargs))\n"
    )
    new = (
        "import json\n\n\ndef dump(obj, fp, **kwargs):\n    if current_app:\n"
        "        current_app.json.dump(obj, fp, **kwargs)\n"
        '    else:\n        kwargs.setdefault("default", default)\n        json.dump(obj, fp, **kwargs)\n'
    )
    assert relocate(old, new, Span(8), "a.py").state in ("review", "orphaned")


@pytest.mark.parametrize("added", ["    from twisted.internet import reactor\n\n", ""])
def test_the_end_of_a_docstring_stays_with_its_function_whatever_comes_below_it(added: str) -> None:
    """It was asked about since the row below was another one: that row is not what it documents."""
    words, body = (
        '    """Same as {}.\n\n    It delays.\n    """\n',
        "    d = defer.Deferred()\n    reactor.call(0, d, result)\n",
    )
    other = f"def {{}}(result):\n{words}{body}    return d\n\n\n"
    old = other.format("fail", "errback") + other.format("succeed", "callback")
    new = other.format("fail", "errback") + other.format("succeed", "callback")
    new = "import os\n" + new.replace('    """\n    d = defer', f'    """\n{added}    d = defer')
    rows = [number for number, row in enumerate(old.split("\n"), 1) if row == '    """']
    now = [number for number, row in enumerate(new.split("\n"), 1) if row == '    """']
    found = relocate_all(Source(old, "a.py"), Source(new, "a.py"), [Span(row) for row in rows])
    assert [(each.state, each.span and each.span.start) for each in found] == [("moved", row) for row in now]


def test_a_place_that_lost_words_is_asked_about_where_another_of_its_function_has_them_all() -> None:
    old, new = (
        "def serve(c):\n    c.header(kind, mime)\n",
        "def serve(c):\n    c.header(kind, mime or text)\n    c.header(code, zip)\n",
    )
    found = Search(Page(Source(old, "a.py")), Page(Source(new, "a.py")))
    places = [
        Candidate(Span(3), 0.72, "    c.header(code, zip)"),
        Candidate(Span(2), 0.15, "    c.header(kind, mime or text)"),
    ]
    found._find_candidates = lambda start, end: tuple(places)  # pyright: ignore[reportPrivateUsage]
    (asked,) = found.relocate([Span(2)])
    assert (asked.state, asked.reason) == ("review", "line 2 has all of its words, and this one has not")
    places[0] = Candidate(Span(3), 0.95, "    c.header(code, zip)")
    assert [each.state for each in found.relocate([Span(2)])] == ["modified"]
    places[:] = [
        Candidate(Span(2), 0.72, "    c.header(kind, mime or text)"),
        Candidate(Span(3), 0.15, "    c.header(code, zip)"),
    ]
    assert [each.state for each in found.relocate([Span(2)])] == ["modified"]
