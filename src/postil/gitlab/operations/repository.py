"""Operations on the repository as GitLab holds it: a file, a folder."""

from __future__ import annotations

from functools import partial

from msgspec.structs import force_setattr, replace

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.connection import Caching, Connection
from postil.gitlab.instance.convert import decoded, read
from postil.gitlab.instance.identifiers import commit, file_path, folder, route
from postil.gitlab.instance.identifiers import ref as checked_ref
from postil.gitlab.model import FileItem, LastCommit
from postil.gitlab.operations.answers import FileContent, Files
from postil.gitlab.operations.arguments import Cache, CacheTtl, Page, PerPage, Project, caching
from postil.gitlab.operations.marks import reads
from postil.gitlab.operations.presentation import for_models

LONGEST_TEXT = 1_000_000
"""Characters of a file that a model is given."""


class RepositoryOperations:
    """What can be read of a repository."""

    gitlab: Connection

    @reads("get_file_content", shell="gitlab file", positional=("project_id", "file_path"))
    async def get_file_content(
        self,
        project_id: Project,
        file_path: str,
        ref: str | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> FileContent:
        """Get a file of the repository with its last commit"""
        project = await self.gitlab.project(project_id)
        kept = caching(cache, cache_ttl)
        path = f"{project}/repository/files/{route(_checked_path(file_path))}"
        raw = await self.gitlab.one(path, {"ref": "HEAD" if ref is None else checked_ref(ref)}, kept)
        last = await self._last_commit(project, commit(raw.text("last_commit_id")), kept)
        plain = read(FileContent, raw, last_commit=last)
        readable = for_models(_fit(plain))
        force_setattr(readable, "plain", plain)
        return readable

    @reads("list_repository_files", shell="gitlab files", positional=("project_id", "path"))
    async def list_repository_files(
        self,
        project_id: Project,
        path: str = "",
        ref: str | None = None,
        recursive: bool | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Files:
        """List a folder of the repository"""
        project = await self.gitlab.project(project_id)
        query = {
            "path": folder(path) or None,
            "ref": None if ref is None else checked_ref(ref),
            "recursive": recursive or None,
        }
        rows, pagination = await self.gitlab.page(
            f"{project}/repository/tree",
            query,
            page,
            per_page,
            partial(read, FileItem),
            caching(cache, cache_ttl),
        )
        return for_models(Files(rows, pagination))

    async def _last_commit(self, project: str, sha: str | None, kept: Caching) -> LastCommit | None:
        """The commit behind the id that GitLab gives; only the id when the commit cannot be read."""
        if sha is None:
            return None
        try:
            raw = await self.gitlab.one(f"{project}/repository/commits/{sha}", None, kept)
        except GitLabFailure:
            return LastCommit(sha)
        return read(LastCommit, raw, id=raw.text("id") or sha)


def _fit(plain: FileContent) -> FileContent:
    """What a model gets: not base64, which it cannot read and in which invisible characters could hide, but the text.

    No more of it than a conversation can hold; a program gets all.
    """
    text = decoded(plain.content, plain.encoding)
    if text is None:
        return plain if len(plain.content or "") <= LONGEST_TEXT else replace(plain, content=None)
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}\n[cut here: the first {LONGEST_TEXT} of {len(text)} characters]"
    return replace(plain, content=text, encoding="text")


_checked_path = file_path  # the argument of the same name hides it inside the operation
