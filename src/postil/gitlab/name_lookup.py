"""People and milestones by name: GitLab wants numbers, callers say `johndoe`, `@johndoe`, `me` or `Sprint 3`."""

from __future__ import annotations

from collections.abc import Sequence

from postil.gitlab.failures import invalid
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.identifiers import check_line, check_number

WORDS = ("None", "Any")


async def find_user(gitlab: Connection, name: str, given: int | str) -> int:
    """Return the number of a user. Raises InvalidArguments for a name that nobody has."""
    if isinstance(given, int) or (given.isascii() and given.isdigit() and len(given) <= 19):
        return check_number(name, int(given))
    username = check_line(name, given).removeprefix("@")
    if username == "me":
        number = (await gitlab.get_one("user")).number("id")
    else:
        rows, _ = await gitlab.get_page("users", {"username": username})
        number = next((row.number("id") for row in rows), None)
    if number is None:
        raise invalid(name, f"names nobody: there is no user @{username}; find_user looks for people")
    return number


async def find_users(gitlab: Connection, name: str, given: Sequence[int | str] | None) -> list[int] | None:
    """Return the numbers of users; None leaves them as they are, an empty list removes all."""
    return None if given is None else [await find_user(gitlab, name, one) for one in given]


async def filter_by_user(gitlab: Connection, field: str, given: int | str | None) -> dict[str, str | int | bool | None]:
    """Return the part of a query that asks for things of one user: `None` and `Any` are GitLab's own words."""
    if given is None or given in WORDS:
        return {field: given}
    return {field: await find_user(gitlab, field, given)}


async def find_milestone(gitlab: Connection, project: str, title: str | None) -> int | None:
    """Return the number of a milestone of the project or of a group above it; an empty title is 0, which removes it."""
    if title is None:
        return None
    if not title:
        return 0
    query: dict[str, str | int | bool | None] = {
        "title": check_line("milestone", title),
        "include_ancestors": True,
    }
    rows, _ = await gitlab.get_page(f"{project}/milestones", query)
    number = next((row.number("id") for row in rows), None)
    if number is None:
        raise invalid("milestone", "names no milestone of this project: list_milestones shows them")
    return number
