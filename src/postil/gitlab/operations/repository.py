"""Operations on the repository as GitLab holds it: a file, a folder."""

from __future__ import annotations

from msgspec.structs import replace

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import decode_text, read
from postil.gitlab.instance.identifiers import check_commit, check_file_path, check_folder, check_ref, make_route
from postil.gitlab.model import LastCommit
from postil.gitlab.operations.answers import FileContent, Files
from postil.gitlab.operations.arguments import Cache, CacheTtl, Page, PerPage, Project
from postil.gitlab.operations.marks import reads
from postil.gitlab.operations.presentation import fit_for_models, list_page
from postil.gitlab.part import GitLab

LONGEST_TEXT = 1_000_000
"""Characters of a file that a model is given."""


class RepositoryOperations:
    """What can be read of a repository."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab = context.connection

    @reads("get_file_content", toolset="repository", shell="gitlab file", positional=("project_id", "file_path"))
    async def get_file_content(
        self,
        project_id: Project,
        file_path: str,
        ref: str | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> FileContent:
        """Get a file of the repository with its last commit"""
        project = await self._gitlab.check_project(project_id)
        options = ReadOptions(cache, cache_ttl)
        path = f"{project}/repository/files/{make_route(check_file_path(file_path))}"
        raw = await self._gitlab.get_one(path, {"ref": "HEAD" if ref is None else check_ref(ref)}, options)
        last = await self._get_last_commit(project, check_commit(raw.text("last_commit_id")), options)
        original = read(FileContent, raw, last_commit=last)
        return fit_for_models(original, read_as=_decode(original))

    @reads("list_repository_files", toolset="repository", shell="gitlab files", positional=("project_id", "path"))
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
        project = await self._gitlab.check_project(project_id)
        query: dict[str, str | int | bool | None] = {
            "path": check_folder(path) or None,
            "ref": None if ref is None else check_ref(ref),
            "recursive": recursive or None,
        }
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Files, f"{project}/repository/tree", query, options)

    async def _get_last_commit(self, project: str, sha: str | None, options: ReadOptions) -> LastCommit | None:
        """Return the commit behind the id that GitLab gives; only the id when the commit cannot be read."""
        if sha is None:
            return None
        try:
            raw = await self._gitlab.get_one(f"{project}/repository/commits/{sha}", None, options)
        except GitLabFailure:
            return LastCommit(sha)
        return read(LastCommit, raw, id=raw.text("id") or sha)


def _decode(file: FileContent) -> FileContent:
    """Return what a model gets: the text, not base64, which it cannot read and in which invisible characters hide.

    No more of it than a conversation can hold; a program gets all.
    """
    text = decode_text(file.content, file.encoding)
    if text is None:
        return file if len(file.content or "") <= LONGEST_TEXT else replace(file, content=None)
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}\n[cut here: the first {LONGEST_TEXT} of {len(text)} characters]"
    return replace(file, content=text, encoding="text")
