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

    def line(self) -> str:
        """Return one line for the end of a list."""
        of = f" of {self.total_pages}" if self.total_pages is not None else ""
        count = f", {self.total} in all" if self.total is not None else ""
        more = f"; page={self.page + 1} has more" if self.has_next else ""
        return f"page {self.page}{of}{count}{more}"


def limit_page(page: int, per_page: int) -> dict[str, int]:
    """Return the query for a page, within GitLab's own limits."""
    return {"page": max(1, page), "per_page": min(LARGEST_PAGE, max(1, per_page))}


def read_pagination(headers: Mapping[str, str], page: int, per_page: int) -> Pagination:
    """Read the headers of a list. An empty header means none, a missing one means that GitLab did not count."""
    asked = limit_page(page, per_page)
    number = _read_number(headers, "x-page") or asked["page"]
    links = headers.get("link", "")
    return Pagination(
        page=number,
        per_page=_read_number(headers, "x-per-page") or asked["per_page"],
        total=_read_number(headers, "x-total"),
        total_pages=_read_number(headers, "x-total-pages"),
        has_next=headers.get("x-next-page", "") != "" or 'rel="next"' in links,
        has_prev=headers.get("x-prev-page", "") != "" or 'rel="prev"' in links or number > 1,
    )


def _read_number(headers: Mapping[str, str], name: str) -> int | None:
    value = headers.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
