"""Finding code again from what a sidecar keeps of it, without the old file."""

import pytest

from postil.anchor.fingerprint import Fingerprint, fingerprint, line_hash, relocate_fingerprints
from postil.anchor.model import Source, Span

pytestmark = pytest.mark.usefixtures("unhurried")

OLD = "".join(f"def f{n}(a):\n    b = a + {n}\n    return b\n\n\n" for n in range(20))


def test_the_hash_is_that_of_the_sidecars() -> None:
    assert line_hash("  function add(a, b) {  ") == line_hash("function add(a, b) {")
    assert line_hash("") == "1db9f36777e9ef0b"


def test_a_fingerprint_keeps_text_surroundings_and_symbol() -> None:
    found = fingerprint(Source(OLD, "a.py"), Span(12, 13))
    assert (found.text, found.symbol, len(found.before), len(found.after)) == (
        "    b = a + 2\n    return b",
        ("f2",),
        5,
        5,
    )


def test_a_span_is_found_again_after_edits_elsewhere() -> None:
    kept = fingerprint(Source(OLD, "a.py"), Span(12))
    (found,) = relocate_fingerprints([kept], Source("import os\n" * 30 + OLD, "a.py"))
    assert (found.state, found.span) == ("moved", Span(42, 42))


def test_a_repeated_line_is_told_apart_by_its_surroundings() -> None:
    kept = fingerprint(Source(OLD, "a.py"), Span(13))
    (found,) = relocate_fingerprints([kept], Source("import os\n" + OLD, "a.py"))
    assert found.span == Span(14, 14)


def test_a_line_of_which_only_the_hash_was_kept_is_found() -> None:
    kept = Fingerprint(line=3, text="", hash=line_hash("b = a + 7"))
    (found,) = relocate_fingerprints([kept], Source(OLD, "a.py"))
    assert found.span == Span(37, 37)
    assert found.state in ("moved", "review")


def test_what_is_gone_is_not_found() -> None:
    kept = Fingerprint(line=3, text="launch_missiles(now=True)", before=("check()",), after=("wait()",))
    assert relocate_fingerprints([kept], Source(OLD, "a.py"))[0].state == "orphaned"


def test_a_repeated_fragment_that_stands_where_it_was_is_exact() -> None:
    text = "a = 1\nb = 2\n" * 9
    kept = fingerprint(Source(text, "a.txt"), Span(8))
    (found,) = relocate_fingerprints([kept], Source(text + "c = 3\n", "a.txt"))
    assert (found.state, found.span) == ("exact", Span(8, 8))


def test_a_blank_row_between_others_is_in_review() -> None:
    old = OLD + "\nres.end()\n\nres.sendfile = function (path) {\n  return path\n}\n"
    new = OLD + "\nres.begin(2)\nres.end()\n\nres.sendFile = async (name) => {\n  return open(name)\n}\n"
    blank = old.split("\n").index("res.end()") + 2
    (kept,) = relocate_fingerprints([fingerprint(Source(old, "a.js"), Span(blank))], Source(new, "a.js"))
    assert (kept.state, [each.span for each in kept.candidates]) == ("review", [kept.span])
    (same,) = relocate_fingerprints([fingerprint(Source(old, "a.js"), Span(blank))], Source("// first\n" + old, "a.js"))
    assert (same.state, same.span) == ("moved", Span(blank + 1, blank + 1))
