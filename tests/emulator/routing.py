"""How a request finds its route: templates, the caller, and what a handler is given and gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from tests.emulator.params import Kinds, Refusal, Row
from tests.emulator.world import Project, Token, World

GUEST, REPORTER, DEVELOPER_ROLE, MAINTAINER = 10, 20, 30, 40


@dataclass
class Asked:
    """One authenticated request with its parameters already checked."""

    world: World
    token: Token
    base: str
    path: dict[str, str]
    params: Row
    totals: bool = True

    def project(self, role: int = 0) -> Project:
        """The project of the path, if the caller may see it and has the role there."""
        wanted = self.path["id"]
        moved = self.world.moved(wanted)
        if moved and self.visible(moved):
            raise Refusal(301, {"message": "Moved"}, {"Location": f"{self.base}/api/v4/projects/{moved.id}"})
        found = self.world.project(wanted)
        if found is None or not self.visible(found):
            raise Refusal(404, {"message": "404 Project Not Found"})
        if self.role(found) < role:
            raise Refusal(403, {"message": "403 Forbidden"})
        return found

    def role(self, project: Project) -> int:
        return 50 if project.owner == self.token.user else project.members.get(self.token.user, 0)

    def visible(self, project: Project) -> bool:
        return project.visibility in ("public", "internal") or self.role(project) > 0

    def number(self, name: str) -> int:
        text = self.path[name]
        if not text.isdigit():
            raise Refusal(400, {"error": f"{name} is invalid"})
        return int(text)


@dataclass
class Answer:
    """What a handler gives back."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])


Handler = Callable[[Asked], Answer]


@dataclass(frozen=True)
class Route:
    """One route of the API: how it is asked and which scopes open it."""

    method: str
    template: tuple[str, ...]
    kinds: Kinds
    required: tuple[str, ...]
    scopes: tuple[str, ...]
    run: Handler


ROUTES: list[Route] = []
READ, WRITE = ("api", "read_api"), ("api",)


def route(
    method: str,
    template: str,
    kinds: Kinds | None = None,
    required: tuple[str, ...] = (),
    scopes: tuple[str, ...] | None = None,
) -> Callable[[Handler], Handler]:
    """Declare a handler for a method and a template such as `projects/:id/issues`."""
    allowed = scopes or (READ if method == "GET" else WRITE)

    def keep(run: Handler) -> Handler:
        ROUTES.append(Route(method, tuple(template.split("/")), kinds or {}, required, allowed, run))
        return run

    return keep


def find(method: str, segments: list[str]) -> tuple[Route, dict[str, str]] | None:
    for candidate in ROUTES:
        if candidate.method != method or len(candidate.template) != len(segments):
            continue
        if all(want.startswith(":") or want == got for want, got in zip(candidate.template, segments, strict=True)):
            named = zip(candidate.template, segments, strict=True)
            return candidate, {want[1:]: got for want, got in named if want.startswith(":")}
    return None


def page(asked: Asked, rows: list[Any], path: str, no_totals: bool = False) -> Answer:
    """One page of rows with the headers of GitLab's offset pagination."""
    number = max(1, asked.params.get("page", 1))
    size = min(100, asked.params.get("per_page", 20))
    if size < 1:
        raise Refusal(400, {"error": "per_page does not have a valid value"})
    start = (number - 1) * size
    more = start + size < len(rows)
    headers = {
        "X-Page": str(number),
        "X-Per-Page": str(size),
        "X-Next-Page": str(number + 1) if more else "",
        "X-Prev-Page": str(number - 1) if number > 1 else "",
    }
    pages = max(1, -(-len(rows) // size))
    links = [("next", number + 1)] if more else []
    links += [("prev", number - 1)] if number > 1 else []
    links += [("first", 1)]
    if asked.totals and not no_totals and len(rows) <= 10_000:
        headers |= {"X-Total": str(len(rows)), "X-Total-Pages": str(pages)}
        links += [("last", pages)]
    url = f"{asked.base}/api/v4/{path}"
    headers["Link"] = ", ".join(f'<{url}?page={at}&per_page={size}>; rel="{name}"' for name, at in links)
    return Answer(rows[start : start + size], 200, headers)


def keyset(asked: Asked, rows: list[Any], path: str) -> Answer:
    """One page by token: a `Link` to the next and no totals."""
    size = min(100, asked.params.get("per_page", 20))
    start = int(asked.params.get("page_token") or 0)
    headers: dict[str, str] = {}
    if start + size < len(rows):
        query = f"pagination=keyset&per_page={size}&page_token={quote(str(start + size))}"
        headers["Link"] = f'<{asked.base}/api/v4/{path}?{query}>; rel="next"'
    return Answer(rows[start : start + size], 200, headers)
