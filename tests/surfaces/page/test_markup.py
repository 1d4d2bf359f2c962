"""HTML out of values."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.surfaces.page.markup import Html, join, link_script, tag

PAGE = Path(__file__).parents[3] / "src" / "postil" / "surfaces" / "page"


class Reader(HTMLParser):
    """What a browser would see: elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"])))
def test_any_text_comes_back_as_text_in_content_and_attributes(text: str) -> None:
    reader = Reader()
    reader.feed(tag("p", text, data_file=text))
    reader.close()
    assert reader.tags[0] == ("p", {"data-file": text})
    assert all(name == "span" and attrs["class"] == "odd" for name, attrs in reader.tags[1:])
    assert reader.text == text


HIDING = "\u202e\u2066\u200b\ufeff\u00ad\u3164\U000e0041\U000e0100\x1b\x7f\x85\u2028\r"


@pytest.mark.parametrize("char", HIDING)
def test_what_hides_or_turns_text_around_is_shown_by_its_number_wherever_it_stands(char: str) -> None:
    code = f"{ord(char):04X}"
    text = f"safe{char}exe"
    span = f'safe<span class="odd" data-code="{code}">{char}</span>exe'
    assert tag("h1", text) == f"<h1>{span}</h1>"
    assert tag("a", "<", [text]) == f"<a>&lt;{span}</a>"
    assert join(text, 1) == f"{span}1"
    assert tag("title", text) == f"<title>safe[U+{code}]exe</title>"
    assert tag("option", text, value=text) == f'<option value="{text}">safe[U+{code}]exe</option>'
    assert tag("a", "x", title=text, aria_label=text) == (
        f'<a title="safe[U+{code}]exe" aria-label="safe[U+{code}]exe">x</a>'
    )


def test_a_carriage_return_before_its_newline_ends_a_line_and_is_not_shown() -> None:
    assert tag("pre", "a\r\nb") == "<pre>a\r\nb</pre>"


def test_what_goes_back_in_a_form_stays_as_it_is() -> None:
    assert tag("textarea", "\n", HIDING) == f"<textarea>\n{HIDING}</textarea>"
    assert tag("input", value=HIDING, data_file=HIDING) == f'<input value="{HIDING}" data-file="{HIDING}">'


def test_what_shapes_letters_and_emoji_is_left() -> None:
    for text in (
        "\U0001f469\u200d\U0001f4bb",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u2764\ufe0f",
        "tab\tline\nend",
    ):
        assert tag("p", text) == f"<p>{text}</p>"


def test_children_may_be_nested_numbers_and_nothing() -> None:
    assert tag("p", ["a", None, [1, Html("<b>x</b>")]]) == "<p>a1<b>x</b></p>"
    assert join("<", None, tag("br")) == "&lt;<br>"


def test_attributes_that_are_none_or_false_are_left_out() -> None:
    assert tag("p", class_="x", hidden=False, title=None, open=True) == '<p class="x" open></p>'


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", " javascript:x", "JaVaScRiPt:x", "java\tscript:x", "data:text/html,x", "//evil", "/\\evil"],
)
def test_an_address_that_is_no_page_leads_nowhere(address: str) -> None:
    assert tag("a", "x", href=address) == '<a href="#">x</a>'


@pytest.mark.parametrize("name", ["onclick", "style", "srcdoc", "a b", "x>"])
def test_what_a_browser_would_run_is_no_attribute(name: str) -> None:
    with pytest.raises(ValueError, match="attribute"):
        tag("p", **{name: "x"})


@pytest.mark.parametrize("name", ["script", "style", "iframe", "object", "base"])
def test_elements_that_run_or_embed_are_not_built(name: str) -> None:
    with pytest.raises(ValueError, match="values"):
        tag(name, "x")


def test_the_script_is_one_of_ours() -> None:
    assert link_script("/assets/x.js") == '<script src="/assets/x.js" defer></script>'
    assert link_script("//evil/x.js") == '<script src="#" defer></script>'


def test_no_other_module_makes_html_out_of_text() -> None:
    made = re.compile(r"\bHtml\(")
    others = [path for path in PAGE.rglob("*.py") if path.name != "markup.py"]
    assert [path.name for path in others if made.search(path.read_text())] == []
