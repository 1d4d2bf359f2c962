"""Ids, paths and refs as callers give them, checked before any URL is built.

A path of the API is made only by `make_route()`, which encodes every segment whole; so nothing a caller says can leave
the segment it was meant for.
"""

from __future__ import annotations

import re
from typing import TypeAlias
from urllib.parse import quote

from postil.gitlab.failures import invalid

ProjectId: TypeAlias = int | str

LONGEST_PROJECT = 255
LONGEST_PATH = 4096
LONGEST_REF = 255
HIGHEST_ID = 2**63 - 1
_SEGMENT = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}", re.ASCII)
_SHA = re.compile(r"[0-9a-fA-F]{1,64}", re.ASCII)


def make_route(*segments: str | int) -> str:
    """Return the path of a route below `/api/v4`, every segment encoded whole."""
    encoded: list[str] = []
    for segment in segments:
        text = quote(str(segment), safe="")
        if text in ("", ".", ".."):  # a dot segment would be resolved away by every HTTP client
            raise invalid("path", "must not contain an empty or dot segment")
        encoded.append(text)
    return "/".join(encoded)


def find_project(path: str) -> str:
    """Return the project that a route is about, encoded as in the route; empty where it is about many."""
    kind, _, rest = path.partition("/")
    return rest.partition("/")[0] if kind == "projects" else ""


def check_project(given: ProjectId) -> str | int:
    """Return a project as one segment: its number, or its full path with namespace."""
    if isinstance(given, int):
        return check_number("project_id", given)
    if given.isascii() and given.isdigit():
        return check_number("project_id", int(given) if len(given) <= 19 else -1)
    parts = given.split("/")
    if not given or len(given) > LONGEST_PROJECT or len(parts) < 2:
        raise invalid("project_id", "must be a number or a full path such as group/project")
    for part in parts:
        if not _SEGMENT.fullmatch(part) or part in (".", ".."):
            raise invalid("project_id", "may have only letters, digits, '_', '.' and '-' between its slashes")
    return given


def check_number(name: str, given: int) -> int:
    """Return an id or iid: a positive whole number that a database can hold."""
    if isinstance(given, bool) or not 1 <= given <= HIGHEST_ID:
        raise invalid(name, "must be a positive whole number")
    return given


def check_file_path(given: str, name: str = "file_path") -> str:
    """Return the path of a file inside the repository: relative, without dot segments."""
    path = check_line(name, given, LONGEST_PATH)
    if path.startswith("/") or "\\" in path or _ESCAPE.search(path):  # `100%.md` is a name, `%2e` is an attempt
        raise invalid(name, "must be relative and not encoded, with '/' between its parts and no '\\'")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise invalid(name, "must not contain empty, '.' or '..' parts")
    return path


def check_folder(given: str) -> str:
    """Return a folder inside the repository; empty means the root, and a trailing slash is forgiven."""
    trimmed = given.strip("/")
    return check_file_path(trimmed, "path") if trimmed not in ("", ".") else ""


def check_ref(given: str, name: str = "ref") -> str:
    """Return a branch, a tag or a commit."""
    text = check_line(name, given, LONGEST_REF)
    if text.startswith("-") or ".." in text or any(sign in text for sign in " ~^:?*[\\"):
        raise invalid(name, "must be the name of a branch or tag, or a commit")
    return text


def check_commit(given: object) -> str | None:
    """Return a commit id out of GitLab's own answer, if it is one, else None."""
    return given if isinstance(given, str) and _SHA.fullmatch(given) else None


def check_discussion(given: str) -> str:
    """Return the id of a discussion: hexadecimal."""
    if not _SHA.fullmatch(given):
        raise invalid("discussion_id", "must be the hexadecimal id that list_merge_request_discussions shows")
    return given


def check_line(name: str, given: str, longest: int = LONGEST_REF) -> str:
    """Return one line of text that stands for itself: a label, a title, a search."""
    if not given or len(given) > longest:
        raise invalid(name, f"must have 1 to {longest} characters")
    if any(ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 or 0xD800 <= ord(sign) < 0xE000 for sign in given):
        raise invalid(name, "must not contain control characters")
    return given
