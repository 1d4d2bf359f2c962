"""What a caller points at: a project, an issue or a merge request, by number, path, `group/project!12` or web address.

What is not said is taken from where the local user stands: the project of the git remote, the merge request of the
branch. Nobody else's calls are: this machine's work tree is not theirs.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from postil.core import call
from postil.core.call import LOCAL
from postil.core.failure import Failure
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


class WorkTree(Struct, frozen=True):
    """Where the local user stands: the addresses of the remotes, the best first, and the branch."""

    remotes: tuple[str, ...] = ()
    branch: str | None = None


class Pointer:
    """Finds what a caller means."""

    def __init__(self, gitlab: Connection, look: Callable[[], WorkTree] | None = None) -> None:
        self._gitlab, self._look = gitlab, look

    async def project(self, given: ProjectId | None) -> str:
        """Return the route of a project; of the one where the caller stands, when none is given."""
        found = self.read(given, "project_id").project
        return await self._gitlab.check_project(await self._find_project() if found is None else found)

    async def issue(self, project: ProjectId | None, iid: ProjectId | None) -> str:
        """Return the route of an issue."""
        route, number = await self._find(project, iid, "issue")
        if number is None:
            raise invalid("issue_iid", "must be given")
        return f"{route}/issues/{number}"

    async def merge_request(self, project: ProjectId | None, iid: ProjectId | None) -> str:
        """Return the route of a merge request; of that of the branch where the caller stands, when none is given."""
        route, number = await self._find(project, iid, "merge_request")
        if number is None:
            number = await self._find_of_branch(route)
        return f"{route}/merge_requests/{number}"

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

    async def _find(self, project: ProjectId | None, iid: ProjectId | None, kind: Kind) -> tuple[str, int | None]:
        named, thing = self.read(project, "project_id"), self.read(iid, NAMES[kind])
        number = thing.number if thing.number is not None else named.number
        sign = thing.sign or named.sign
        if number is not None and sign not in ("", SIGNS[kind]):
            raise invalid(
                NAMES[kind], f"must name {'an issue' if kind == 'issue' else 'a merge request'}, with {SIGNS[kind]}"
            )
        if None not in (named.project, thing.project) and str(named.project).lower() != str(thing.project).lower():
            raise invalid(NAMES[kind], "and project_id name different projects: give one of them")
        where = thing.project if thing.project is not None else named.project
        return await self.project(where), number

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

    async def _stand(self) -> WorkTree:
        if self._look is None or call.current().caller.principal != LOCAL:
            return WorkTree()
        try:
            return await asyncio.to_thread(self._look)
        except Failure:  # no repository here: nothing can be taken from it
            return WorkTree()

    async def _find_project(self) -> str:
        tree = await self._stand()
        found = next((path for url in tree.remotes if (path := read_remote(url, self._gitlab.instance.url))), None)
        if found is None:
            here = f": no git remote here leads to {self._gitlab.instance.url}" if tree.remotes else ""
            raise invalid("project_id", f"must be given{here}")
        return found

    async def _find_of_branch(self, project: str) -> int:
        branch = (await self._stand()).branch
        if branch is None:
            raise invalid("merge_request_iid", "must be given")
        rows, _ = await self._gitlab.get_page(f"{project}/merge_requests", {"source_branch": branch, "state": "opened"})
        numbers = [number for row in rows if (number := row.number("iid")) is not None]
        if len(numbers) != 1:
            said = f"{len(numbers)} are open" if numbers else "none is open"
            raise invalid("merge_request_iid", f"must be given: of the branch {branch} {said}")
        return numbers[0]


def read_remote(address: str, instance: str) -> str | None:
    """Return the project that a git remote leads to, if it is on this instance."""
    root = urlsplit(instance)
    if "://" in address:
        try:
            parts = urlsplit(address)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return None
    else:
        front, colon, path = address.partition(":")
        host = front.rpartition("@")[2].lower() if colon and "/" not in front else ""
    if host not in (root.hostname, f"altssh.{root.hostname}"):
        return None
    project = unquote(path).strip("/").removesuffix(".git")
    if address.startswith("http"):
        project = project.removeprefix(root.path.strip("/")).strip("/")
    return project if "/" in project else None
