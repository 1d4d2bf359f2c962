"""Pages: within GitLab's limits when asked for, and what its headers say of the rest."""

from __future__ import annotations

import pytest

from postil.gitlab.instance.pages import Pagination, limit_page, read_pagination


@pytest.mark.parametrize(
    ("page", "per_page", "asked"),
    [(1, 20, (1, 20)), (0, 0, (1, 1)), (-3, 101, (1, 100)), (7, 100, (7, 100)), (2, 1, (2, 1))],
)
def test_a_page_is_asked_for_within_gitlabs_limits(page: int, per_page: int, asked: tuple[int, int]) -> None:
    assert limit_page(page, per_page) == {"page": asked[0], "per_page": asked[1]}


def test_the_headers_say_where_a_page_stands() -> None:
    told = {
        "x-page": "2",
        "x-per-page": "50",
        "x-total": "120",
        "x-total-pages": "3",
        "x-next-page": "3",
        "x-prev-page": "1",
    }
    assert read_pagination(told, 1, 20) == Pagination(2, 50, 120, 3, has_next=True, has_prev=True)


def test_without_headers_the_page_is_the_one_asked_for_and_nothing_is_counted() -> None:
    assert read_pagination({}, 0, 500) == Pagination(1, 100, None, None, has_next=False, has_prev=False)
    assert read_pagination({}, 2, 20).has_prev
    assert not read_pagination({}, 1, 20).has_prev


def test_an_empty_header_means_none_and_links_tell_too() -> None:
    empty = {"x-next-page": "", "x-prev-page": "", "x-total": ""}
    assert read_pagination(empty, 1, 20) == Pagination(1, 20, None, None, has_next=False, has_prev=False)
    assert read_pagination({"link": '<https://x>; rel="next"'}, 1, 20).has_next
    assert read_pagination({"link": '<https://x>; rel="prev"'}, 1, 20).has_prev
    assert read_pagination({"x-prev-page": "1"}, 1, 20).has_prev


@pytest.mark.parametrize("odd", ["many", "-1", "²", "1" * 19, "1.5"])
def test_a_count_that_is_no_count_is_unknown(odd: str) -> None:
    assert read_pagination({"x-total": odd}, 1, 20).total is None
    assert read_pagination({"x-total": "1" * 18}, 1, 20).total == int("1" * 18)


def test_the_last_line_of_a_list_says_how_to_go_on() -> None:
    assert Pagination(2, 20, 41, 3, has_next=True, has_prev=True).line() == "page 2 of 3, 41 in all; page=3 has more"
    assert Pagination(1, 20, None, None, has_next=False, has_prev=False).line() == "page 1"
    assert Pagination(1, 20, 0, 0, has_next=False, has_prev=False).line() == "page 1 of 0, 0 in all"
