"""Operations on the repository as GitLab holds it: a file, a folder, a search in the code."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta
from msgspec.structs import force_setattr, replace

from postil.gitlab.failures import GitLabFailure
from postil.gitlab.fitting import choose_window, read_lines, room_for_text
from postil.gitlab.instance.connection import ReadOptions
from postil.gitlab.instance.convert import decode_text, read
from postil.gitlab.instance.identifiers import (
    check_commit,
    check_file_path,
    check_folder,
    check_line,
    check_ref,
    make_route,
)
from postil.gitlab.model import LastCommit
from postil.gitlab.operations.answers import CodeMatches, FileContent, Files
from postil.gitlab.operations.arguments import (
    Cache,
    CacheTtl,
    Lines,
    MaxBytes,
    Page,
    PerPage,
    Project,
)
from postil.gitlab.operations.marks import CONTRACT, reads
from postil.gitlab.operations.presentation import fit_for_models, list_page, remember
from postil.gitlab.part import GitLab
from postil.gitlab.policy.strangers_code import check_on_branch


class RepositoryOperations:
    """What can be read of a repository."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab, self._pointer = context.connection, context.pointer

    @reads(
        "get_file_content",
        toolset=CONTRACT,
        shell="gitlab file",
        positional=("project_id", "file_path"),
        requires=("file_path",),
    )
    async def get_file_content(
        self,
        project_id: Project | None = None,
        file_path: Annotated[str, Meta(description="file")] = "",
        ref: Annotated[str, Meta(description="branch, tag or commit")] | None = None,
        lines: Lines | None = None,
        max_bytes: MaxBytes | None = None,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> FileContent:
        """Get a file of the repository with its last commit"""
        wanted = read_lines(lines)
        segment = make_route(check_file_path(file_path))
        asked = "HEAD" if ref is None else check_ref(ref)
        project = await self._pointer.project(project_id)
        await check_on_branch(self._gitlab, project, ref)
        options = ReadOptions(cache, cache_ttl)
        raw = await self._gitlab.get_one(f"{project}/repository/files/{segment}", {"ref": asked}, options)
        last = await self._get_last_commit(project, check_commit(raw.text("last_commit_id")), options)
        original = read(FileContent, raw, last_commit=last)
        fit = fit_for_models(original, read_as=_decode(original, wanted, room_for_text(max_bytes)))
        if wanted is not None or max_bytes is not None:
            force_setattr(fit, "original", fit)  # who asks for lines gets lines, a program too
        return remember(fit, fit, max_bytes)

    @reads("list_repository_files", toolset=CONTRACT, shell="gitlab files", positional=("project_id", "path"))
    async def list_repository_files(
        self,
        project_id: Project | None = None,
        path: Annotated[str, Meta(description="folder")] = "",
        ref: Annotated[str, Meta(description="branch, tag or commit")] | None = None,
        recursive: Annotated[bool, Meta(description="with folders inside")] | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> Files:
        """List a folder of the repository"""
        query: dict[str, str | int | bool | None] = {
            "path": check_folder(path) or None,
            "ref": None if ref is None else check_ref(ref),
            "recursive": recursive or None,
        }
        project = await self._pointer.project(project_id)
        await check_on_branch(self._gitlab, project, ref)
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, Files, f"{project}/repository/tree", query, options)

    @reads("search_code", toolset="code", shell="gitlab search-code", positional=("search", "project_id"))
    async def search_code(
        self,
        search: Annotated[str, Meta(description="words; filename:, path: and extension: narrow")],
        project_id: Project | None = None,
        ref: Annotated[str, Meta(description="branch or tag")] | None = None,
        page: Page = 1,
        per_page: PerPage = 20,
        cache: Cache = False,
        cache_ttl: CacheTtl = 300,
    ) -> CodeMatches:
        """Search the code of a project"""
        query: dict[str, str | int | bool | None] = {
            "scope": "blobs",
            "search": check_line("search", search),
            "ref": None if ref is None else check_ref(ref),
        }
        project = await self._pointer.project(project_id)
        await check_on_branch(self._gitlab, project, ref)
        options = ReadOptions(cache, cache_ttl, page, per_page)
        return await list_page(self._gitlab, CodeMatches, f"{project}/search", query, options)

    async def _get_last_commit(self, project: str, sha: str | None, options: ReadOptions) -> LastCommit | None:
        """Return the commit behind the id that GitLab gives; only the id when the commit cannot be read."""
        if sha is None:
            return None
        try:
            raw = await self._gitlab.get_one(f"{project}/repository/commits/{sha}", None, options)
        except GitLabFailure:
            return LastCommit(sha)
        return read(LastCommit, raw, id=raw.text("id") or sha)


def _decode(file: FileContent, wanted: tuple[int, int | None] | None, room: int) -> FileContent:
    """Return what a model gets: the text, not base64, which it cannot read and in which invisible characters hide.

    No more of it than was asked for; a program gets all.
    """
    text = decode_text(file.content, file.encoding)
    if text is None:
        return replace(file, content=None)
    window = choose_window(text, wanted, room)
    left = UNSET
    if not window.is_whole:
        left = f"lines {window.first}-{window.last} of {window.total}"
        left += "; the line is cut: max_bytes gets more" if window.is_cut else ""
        left += f"; lines={window.last + 1}- goes on" if window.last < window.total else ""
    return replace(file, content=window.text, encoding="text", left_out=left)
