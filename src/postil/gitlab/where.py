"""What a caller points at: a project, an issue or a merge request, by number, path, `group/project!12` or web address.

What is not said is taken from where the local user stands: `standing.py`.
"""

from __future__ import annotations

import re
from typing import Literal, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from postil.gitlab.failures import invalid
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.identifiers import HIGHEST_ID, ProjectId, check_number, check_project

Kind: TypeAlias = Literal["issue", "merge_request"]
SIGNS: dict[Kind, str] = {"issue": "#", "merge_request": "!"}
NAMES: dict[Kind, str] = {"issue": "issue_iid", "merge_request": "merge_request_iid"}
_REFERENCE = re.compile(r"(?P<project>[\w./-]*)(?P<sign>[#!])(?P<number>\d{1,19})", re.ASCII)
_PAGE = re.compile(r"(?P<name>issues|work_items|merge_requests|pipelines|jobs)/(?P<number>\d{1,19})(?:/.*)?", re.ASCII)
_PAGES = {"issues": "#", "work_items": "#", "merge_requests": "!"}


class Reference(Struct, frozen=True):
    """What a text points at; `sign` says of which kind the number is."""

    project: ProjectId | None = None
    sign: str = ""
    number: int | None = None


class Stands(Protocol):
    """Says what a caller left out, or raises InvalidArguments: `standing.py`."""

    async def find_project(self) -> str: ...

    async def find_merge_request(self, given: ProjectId | None) -> str: ...


class Pointer:
    """Finds what a caller means."""

    def __init__(self, gitlab: Connection, standing: Stands) -> None:
        self._gitlab, self._standing = gitlab, standing

    async def project(self, given: ProjectId | None) -> str:
        """Return the route of a project; of the one where the caller stands, when none is given."""
        found = self.read(given, "project_id").project
        return await self._gitlab.check_project(await self._standing.find_project() if found is None else found)

    async def issue(self, project: ProjectId | None, iid: ProjectId | None) -> str:
        """Return the route of an issue."""
        where, number = self._read_both(project, iid, "issue")
        route = await self.project(where)
        if number is None:
            raise invalid("issue_iid", "must be given")
        return f"{route}/issues/{number}"

    async def merge_request(self, project: ProjectId | None, iid: ProjectId | None) -> str:
        """Return the route of a merge request; of that of the branch where the caller stands, when none is given."""
        where, number = self._read_both(project, iid, "merge_request")
        if number is None:
            return await self._standing.find_merge_request(where)
        return f"{await self.project(where)}/merge_requests/{number}"

    def read(self, given: ProjectId | None, name: str) -> Reference:
        """Return what a text or number points at: for `project_id` a number is a project, elsewhere it is an iid."""
        if given is None:
            return Reference()
        if isinstance(given, int) or (given.isascii() and given.isdigit()):
            number = check_number(name, int(given) if isinstance(given, int) or len(given) <= 19 else -1)
            return Reference(number) if name == "project_id" else Reference(number=number)
        if given.startswith(("https://", "http://")):
            return self._read_address(given, name)
        found = _REFERENCE.fullmatch(given)
        if found is not None:
            number = int(found["number"])
            if not 1 <= number <= HIGHEST_ID:
                raise invalid(name, "must be a positive whole number")
            return Reference(found["project"] or None, found["sign"], number)
        if name != "project_id":
            raise invalid(name, "must be a number, a reference such as group/project!12, or a web address")
        return Reference(check_project(given))

    def _read_both(
        self, project: ProjectId | None, iid: ProjectId | None, kind: Kind
    ) -> tuple[ProjectId | None, int | None]:
        named, thing = self.read(project, "project_id"), self.read(iid, NAMES[kind])
        number = thing.number if thing.number is not None else named.number
        sign = thing.sign or named.sign
        if number is not None and sign not in ("", SIGNS[kind]):
            raise invalid(
                NAMES[kind], f"must name {'an issue' if kind == 'issue' else 'a merge request'}, with {SIGNS[kind]}"
            )
        if None not in (named.project, thing.project) and str(named.project).lower() != str(thing.project).lower():
            raise invalid(NAMES[kind], "and project_id name different projects: give one of them")
        return thing.project if thing.project is not None else named.project, number

    def _read_address(self, given: str, name: str) -> Reference:
        """Return what a page of this GitLab shows; pages of others are refused."""
        root = urlsplit(self._gitlab.instance.url)
        try:
            asked = urlsplit(given)
            same = (asked.hostname, asked.port) == (root.hostname, root.port) and "@" not in asked.netloc
        except ValueError:
            same = False
            asked = root
        path = unquote(asked.path)
        if not same or not path.startswith(f"{root.path}/"):
            raise invalid(name, f"must be an address of {self._gitlab.instance.url}")
        project, _, page = path.removeprefix(f"{root.path}/").strip("/").partition("/-/")
        found = _PAGE.fullmatch(page)
        number = int(found["number"]) if found else None
        if number is not None and not 1 <= number <= HIGHEST_ID:
            raise invalid(name, "must be a positive whole number")
        if found is None and name != "project_id":
            raise invalid(name, "must be the address of an issue or a merge request")
        return Reference(
            check_project(project.removesuffix(".git")), _PAGES.get(found["name"], "?") if found else "", number
        )
