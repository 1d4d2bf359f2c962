"""Declarations are known by what they declare, and renamed ones by their uses."""

from hypothesis import given
from hypothesis import strategies as st

from postil.anchor.model import Source
from postil.anchor.page import Page
from postil.anchor.renames import Renames
from postil.anchor.side_by_side.alignment import Alignment

OLD = """class Store {
    private Mappings mappings;
    private int size;
    void load(String name, int count) {
        mappings.add(name);
        mappings.close(count);
        size = mappings.size();
    }
}
"""
NEW = """class Store {
    private int size;
    private BuildingContext context;
    void load(String name, int count) {
        context.add(name);
        context.close(count);
        size = context.size();
    }
}
"""


def renames(old: str, new: str) -> Renames:
    before, after = Page(Source(old, "Store.java")), Page(Source(new, "Store.java"))
    return Renames(before, after, Alignment(before, after))


def test_types_and_keywords_tell_a_declaration_from_a_use() -> None:
    text = "\n".join(
        [
            "Ref r = null;",
            "r = find(x);",
            "return total;",
            "Map<String, List<Ref>> refs = load();",
            "for (Name name : names) {",
            "const found = rows.map(f)",
            "def load(self, path):",
            "} catch (IOException e) {",
            "if (ready) {",
        ]
    )
    asked = renames(text, text)
    found = [asked.list_declared(asked.old, row) for row in range(len(asked.old))]
    assert found == [["r"], [], [], ["refs"], ["name"], ["found"], ["load"], ["e"], []]


def test_a_renamed_declaration_is_found_by_its_uses() -> None:
    asked = renames(OLD, NEW)
    assert asked.find_candidates(1, expected=1) == [2]
    assert asked.share_followed(1, 2) == 1.0
    assert asked.share_followed(1, 1) == 0.0


def test_what_is_declared_still_counts_for_the_row_that_declares_it() -> None:
    asked = renames("Ref r = find(name);\nuse(r);\n", "Ref r = null;\nif (x) {\n    r = find(name);\n}\nuse(r);\n")
    assert asked.share_kept(0, 0) == 1.0
    assert asked.share_kept(0, 2) == 0.0
    assert asked.share_kept(1, 4) == -1.0  # it declares nothing


@given(st.text(alphabet="ab <>[]=;,:()\n*&?$.", max_size=400))
def test_no_text_makes_it_fail(text: str) -> None:
    asked = renames(text, OLD)
    for row in range(len(asked.old)):
        asked.find_candidates(row, row)
        assert -1.0 <= asked.share_followed(row, 0) <= 1.0
