"""Pagination: what is asked for, and what GitLab's headers say about the rest. Unknown totals stay unknown."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

LARGEST_PAGE = 100


class Pagination(Struct, frozen=True):
    """Where a page stands; `total` and `total_pages` are null when GitLab does not count."""

    page: int
    per_page: int
    total: int | None
    total_pages: int | None
    has_next: bool
    has_prev: bool

    def text(self) -> str:
        """One line, for the end of a list."""
        of = f" of {self.total_pages}" if self.total_pages is not None else ""
        count = f", {self.total} in all" if self.total is not None else ""
        more = f"; page={self.page + 1} has more" if self.has_next else ""
        return f"page {self.page}{of}{count}{more}"


def asked(page: int, per_page: int) -> dict[str, str | int | bool | None]:
    """The query for a page, within GitLab's own limits."""
    return {"page": max(1, page), "per_page": min(LARGEST_PAGE, max(1, per_page))}


def told(headers: Mapping[str, str], page: int, per_page: int) -> Pagination:
    """What the headers of a list say. An empty header means none, a missing one means that GitLab did not count."""
    number = _whole(headers, "x-page") or max(1, page)
    links = headers.get("link", "")
    return Pagination(
        page=number,
        per_page=_whole(headers, "x-per-page") or min(LARGEST_PAGE, max(1, per_page)),
        total=_whole(headers, "x-total"),
        total_pages=_whole(headers, "x-total-pages"),
        has_next=headers.get("x-next-page", "") != "" or 'rel="next"' in links,
        has_prev=headers.get("x-prev-page", "") != "" or 'rel="prev"' in links or number > 1,
    )


def _whole(headers: Mapping[str, str], name: str) -> int | None:
    value = headers.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
