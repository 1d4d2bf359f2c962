"""Where the local user stands: the project of the work tree's remotes, the merge request of its branch.

Nobody else's calls are answered from it: this machine's work tree is not theirs. How git is asked: `git_remotes.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from postil.core import call
from postil.core.call import LOCAL
from postil.core.failure import Failure, InvalidArguments
from postil.gitlab.failures import GitLabFailure, NotOffered, invalid
from postil.gitlab.instance.connection import Connection
from postil.gitlab.instance.identifiers import ProjectId, check_line, make_route
from postil.gitlab.instance.records import Record

MOST_PROJECTS = 5
"""Projects of remotes that are asked for a merge request."""


class WorkTree(Struct, frozen=True):
    """What git says: the addresses of the remotes, the one that is pushed to first, and the branch."""

    remotes: tuple[str, ...] = ()
    branch: str | None = None
    upstream: str | None = None
    """The name that the branch has at the first remote, where that differs."""


class Standing:
    """Answers what a caller left out."""

    def __init__(self, gitlab: Connection, look: Callable[[], WorkTree] | None = None) -> None:
        self._gitlab, self._look = gitlab, look

    async def find_project(self) -> str:
        """Return the path of the project that the work tree is pushed to."""
        return str(self._list_projects(await self._read())[0])

    async def find_merge_request(self, given: ProjectId | None) -> str:
        """Return the route of the open merge request of the branch: in this project, or in one of the remotes'."""
        tree = await self._read()
        projects = self._list_projects(tree) if given is None else [given]
        if tree.branch is None:
            raise invalid("merge_request_iid", "must be given")
        home = next((path for one in tree.remotes if (path := read_remote(one, self._gitlab.instance.url))), None)
        found: list[str] = []
        unseen: list[Failure] = []
        for name in projects:
            if not found:
                with _passing_over(unseen):
                    found = await self._list_routes(await self._gitlab.check_project(name), tree.branch, home)
        if len(unseen) == len(projects):
            raise unseen[0]
        if not found and tree.upstream:
            with _passing_over(unseen):
                first = await self._gitlab.check_project(projects[0])
                if not await self._is_base(first, tree.upstream):
                    found = await self._list_routes(first, tree.upstream, home)
        if len(found) != 1:
            said = f"{len(found)} are open" if found else "none is open"
            raise invalid("merge_request_iid", f"must be given: of the branch {tree.branch} {said}")
        return found[0]

    async def _read(self) -> WorkTree:
        if self._look is None or call.current().caller.principal != LOCAL:
            return WorkTree()
        try:
            return await asyncio.to_thread(self._look)
        except Failure:  # no repository here: nothing can be taken from it
            return WorkTree()

    def _list_projects(self, tree: WorkTree) -> list[ProjectId]:
        """Return the projects that the remotes lead to, the best first. Raises InvalidArguments where none does."""
        url = self._gitlab.instance.url
        found = list(dict.fromkeys(path for address in tree.remotes if (path := read_remote(address, url))))
        if not found:
            here = f": no git remote here leads to {url}" if tree.remotes else " (a number, a path or a web address)"
            raise invalid("project_id", f"must be given{here}")
        return [*found[:MOST_PROJECTS]]

    async def _list_routes(self, project: str, branch: str, home: str | None) -> list[str]:
        """Return the open merge requests of a branch of the project that it is pushed to.

        A branch of the same name in somebody else's fork is not meant.
        """
        query: dict[str, str | int | bool | None] = {
            "source_branch": check_line("merge_request_iid", branch),
            "state": "opened",
        }
        rows, _ = await self._gitlab.get_page(f"{project}/merge_requests", query)
        number = None
        if rows and home is not None and make_route("projects", home).lower() != project.lower():
            number = 0  # which no project has
            with _passing_over([]):
                number = (await self._gitlab.get_one(await self._gitlab.check_project(home))).number("id") or 0
        mine = (row for row in rows if _is_from(row, number))
        return [f"{project}/merge_requests/{iid}" for row in mine if (iid := row.number("iid")) is not None]

    async def _is_base(self, project: str, branch: str) -> bool:
        """Whether a branch is one that others are merged into: then it was followed as a beginning, not as a copy."""
        route = make_route("repository", "branches", check_line("merge_request_iid", branch))
        found = await self._gitlab.get_one(f"{project}/{route}")
        return bool(found.flag("default") or found.flag("protected"))


@contextmanager
def _passing_over(unseen: list[Failure]) -> Generator[None]:
    """Collect the failures of what is not offered, or cannot be seen: git named it, not the caller."""
    try:
        yield
    except (GitLabFailure, NotOffered, InvalidArguments) as failure:
        if isinstance(failure, GitLabFailure) and failure.status not in (403, 404):
            raise
        unseen.append(failure)


def _is_from(row: Record, home: int | None) -> bool:
    """Whether the branch of a merge request is of this project; without one, of that which it goes to."""
    source = row.number("source_project_id")
    own = row.number("target_project_id") or row.number("project_id")
    return source is not None and source == (own if home is None else home)


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
