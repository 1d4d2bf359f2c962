"""The state of the emulated GitLab and the people, projects and tokens it starts with."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any

from tests.emulator.changes import changed

Row = dict[str, Any]

# Tokens the world starts with. They open nothing but this emulator.
DEVELOPER = "glpat-emulator-developer"
READER = "glpat-emulator-reader"
STRANGER = "glpat-emulator-stranger"
FILES_ONLY = "glpat-emulator-filesonly"
REVOKED = "glpat-emulator-revoked"

START = "2024-01-01T00:00:00.000Z"
LATER = "2024-01-15T12:00:00.000Z"

HOOK_EVENTS = (
    "push_events",
    "issues_events",
    "confidential_issues_events",
    "merge_requests_events",
    "tag_push_events",
    "note_events",
    "confidential_note_events",
    "job_events",
    "pipeline_events",
    "wiki_page_events",
    "deployment_events",
    "releases_events",
)


def sha(text: str) -> str:
    """A stable forty-digit name."""
    return hashlib.sha1(text.encode()).hexdigest()


@dataclass
class Token:
    """A personal access token: whose it is and what it may do."""

    user: int
    scopes: tuple[str, ...]
    revoked: bool = False


@dataclass
class Project:
    """One project with everything inside it; lists are in order of creation."""

    id: int
    name: str
    path: str
    namespace: str
    visibility: str
    description: str | None = None
    owner: int = 1
    members: dict[int, int] = field(default_factory=dict[int, int])
    starred_by: set[int] = field(default_factory=set[int])
    default_branch: str | None = "main"
    branches: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    file_commit: dict[str, str] = field(default_factory=dict[str, str])
    commits: dict[str, Row] = field(default_factory=dict[str, Row])
    issues: list[Row] = field(default_factory=list[Row])
    merge_requests: list[Row] = field(default_factory=list[Row])
    pipelines: list[Row] = field(default_factory=list[Row])
    jobs: list[Row] = field(default_factory=list[Row])
    bridges: list[Row] = field(default_factory=list[Row])
    """Jobs that start pipelines."""
    hooks: list[Row] = field(default_factory=list[Row])
    labels: list[Row] = field(default_factory=list[Row])
    milestones: list[Row] = field(default_factory=list[Row])
    tags: dict[str, str] = field(default_factory=dict[str, str])
    reports: dict[int, list[Row]] = field(default_factory=dict[int, list[Row]])
    """Test suites by pipeline."""
    moved_from: tuple[str, ...] = ()

    @property
    def full_path(self) -> str:
        return f"{self.namespace}/{self.path}"


@dataclass
class World:
    """All of it, and the counters that give out ids."""

    users: dict[int, Row] = field(default_factory=dict[int, Row])
    tokens: dict[str, Token] = field(default_factory=dict[str, Token])
    projects: list[Project] = field(default_factory=list[Project])
    todos: list[Row] = field(default_factory=list[Row])
    next_ids: dict[str, int] = field(default_factory=dict[str, int])
    ticks: int = 0

    def new_id(self, kind: str) -> int:
        self.next_ids[kind] = self.next_ids.get(kind, 1000) + 1
        return self.next_ids[kind]

    def now(self) -> str:
        """A time that goes forward a second at every look, so that orders are stable."""
        self.ticks += 1
        minutes, seconds = divmod(self.ticks, 60)
        hours, minutes = divmod(minutes, 60)
        return f"2024-02-01T{hours % 24:02}:{minutes:02}:{seconds:02}.000Z"

    def project(self, wanted: str) -> Project | None:
        for project in self.projects:
            if wanted == str(project.id) or wanted.lower() == project.full_path.lower():
                return project
        return None

    def moved(self, wanted: str) -> Project | None:
        return next((project for project in self.projects if wanted in project.moved_from), None)

    def note(self, author: int, body: str, **more: Any) -> Row:
        row: Row = {"id": self.new_id("note"), "body": body, "author": author, "created_at": self.now()}
        return row | {"resolvable": False, "resolved": False, "system": False, "position": None} | more

    def add_issue(self, project: Project, author: int, title: str, **more: Any) -> Row:
        row: Row = {}
        row |= {
            "id": self.new_id("issue"),
            "iid": len(project.issues) + 1,
            "title": title,
            "description": None,
            "state": "opened",
            "author": author,
            "assignees": [],
            "labels": [],
            "created_at": self.now(),
            "closed_at": None,
            "milestone": None,
            "confidential": False,
            "due_date": None,
            "notes": [],
        } | more
        row["updated_at"] = row["created_at"]
        project.issues.append(row)
        return row

    def add_merge_request(
        self, project: Project, author: int, title: str, source: str, target: str, **more: Any
    ) -> Row:
        row: Row = {}
        row |= {
            "id": self.new_id("merge_request"),
            "iid": len(project.merge_requests) + 1,
            "title": title,
            "description": None,
            "state": "opened",
            "author": author,
            "assignees": [],
            "reviewers": [],
            "labels": [],
            "source_branch": source,
            "target_branch": target,
            "sha": project.branches.get(source),
            "created_at": self.now(),
            "merged_at": None,
            "closed_at": None,
            "milestone": None,
            "remove_source_branch": None,
            "discussions": [],
            "diffs": [],
            "versions": [],
            "drafts": [],
            "approved_by": [],
            "squash": False,
            "auto_merge": False,
        } | more
        row["updated_at"] = row["created_at"]
        project.merge_requests.append(row)
        return row

    def push(self, project: Project, row: Row, diffs: list[Row]) -> Row:
        """A new version of a merge request: another head, another diff; earlier versions stay readable."""
        head = row["sha"] if not row["versions"] else sha(f"push {self.now()}")
        base = project.branches.get(row["target_branch"], sha("base"))
        refs = {"base_sha": base, "start_sha": base, "head_sha": head}
        version: Row = {"id": self.new_id("version"), "created_at": self.now(), "diffs": diffs} | refs
        row["versions"].append(version)
        row |= {"sha": head, "diffs": diffs}
        project.branches[row["source_branch"]] = head
        return version

    def add_discussion(self, thread: Row, notes: list[Row]) -> Row:
        row: Row = {"id": sha(f"discussion {self.new_id('discussion')}"), "individual_note": False, "notes": notes}
        thread["discussions"].append(row)
        return row

    def add_pipeline(self, project: Project, ref: str, status: str, source: str, user: int) -> Row:
        row: Row = {
            "id": self.new_id("pipeline"),
            "iid": len(project.pipelines) + 1,
            "ref": ref,
            "sha": project.branches[ref],
            "status": status,
            "source": source,
            "user": user,
            "created_at": self.now(),
            "updated_at": self.now(),
        }
        project.pipelines.append(row)
        return row

    def add_job(self, project: Project, pipeline: Row, name: str, stage: str, status: str, trace: str) -> Row:
        row: Row = {
            "id": self.new_id("job"),
            "pipeline": pipeline["id"],
            "name": name,
            "stage": stage,
            "status": status,
            "trace": trace,
            "created_at": self.now(),
        }
        project.jobs.append(row)
        return row

    def add_bridge(self, project: Project, pipeline: Row, name: str, owner: Project, child: Row) -> Row:
        row: Row = {
            "id": self.new_id("bridge"),
            "pipeline": pipeline["id"],
            "name": name,
            "stage": "deploy",
            "status": child["status"],
            "created_at": self.now(),
            "owner": owner,
            "child": child,
        }
        project.bridges.append(row)
        return row

    def commit_files(self, project: Project, message: str, author: str, files: dict[str, bytes], name: str = "") -> str:
        commit = name or sha(f"{project.id} {message} {self.now()}")
        project.commits[commit] = {
            "id": commit,
            "message": message,
            "author_name": author,
            "created_at": self.now(),
            "parents": [project.branches[project.default_branch]] if project.default_branch in project.branches else [],
        }
        for path, content in files.items():
            project.files[path] = content
            project.file_commit[path] = commit
        return commit


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def seeded() -> World:
    """A world in which the examples of the contract come true, with a little more around them."""
    world = World()
    for number, username, name in (
        (1, "username", "User Name"),
        (456, "johndoe", "John Doe"),
        (7, "stranger", "A Stranger"),
    ):
        world.users[number] = {"id": number, "username": username, "name": name}
    world.tokens = {
        DEVELOPER: Token(456, ("api",)),
        READER: Token(456, ("read_api",)),
        STRANGER: Token(7, ("api",)),
        FILES_ONLY: Token(456, ("read_repository",)),
        REVOKED: Token(456, ("api",), revoked=True),
    }
    public = _public_project(world)
    empty = Project(125, "Empty", "empty", "username", "internal", members={456: 40}, default_branch=None)
    secret = Project(126, "Secret", "secret", "admins", "private", "Nobody of this world may see it")
    world.add_issue(secret, 1, "A secret issue")
    world.projects += [_main_project(world), public, empty, secret]  # the main one last made: it sets the next id
    return world


def _main_project(world: World) -> Project:
    project = Project(123, "My Project", "my-project", "username", "private", "Project description", members={456: 40})
    project.moved_from = ("username/old-name",)
    project.starred_by = {456}
    readme = b"# My Project\n" + b"." * 1011
    world.commit_files(
        project, "Start", "User Name", {"src/app.py": b"print('hello')\n", "src/lib/deep.py": b"x = 1\n"}
    )
    head = world.commit_files(project, "Update README", "John Doe", {"README.md": readme})
    project.branches = {"main": head, "feature-branch": sha("feature"), "other": sha("other")}
    for branch in ("feature-branch", "other"):
        commit = project.branches[branch]
        project.commits[commit] = project.commits[head] | {"id": commit, "message": f"Work on {branch}"}
    world.next_ids["issue"] = 788  # the contract's first issue is 789, its next one 790
    first = world.add_issue(
        project, 456, "Issue title", description="Issue description", assignees=[456], labels=["bug"], created_at=START
    )
    first["notes"].append(world.note(1, "Seen it too.\n"))
    merge = world.add_merge_request(project, 456, "Add greeting", "feature-branch", "main", description="Greets.")
    first_file = changed("src/app.py", "src/app.py", "print('hello')\n", "print('hi')\n")
    world.push(project, merge, [first_file, changed("docs/new.md", "docs/new.md", None, "New\n")])
    project.labels = [
        {"id": 11, "name": "bug", "color": "#d9534f", "description": "Something is broken"},
        {"id": 12, "name": "feature", "color": "#5cb85c", "description": None},
    ]
    project.milestones = [
        {"id": 21, "iid": 1, "title": "v1.0", "description": "First release", "state": "active", "due_date": None}
    ]
    project.tags = {"v0.1": head}
    position = {"new_path": "src/app.py", "old_path": "src/app.py", "new_line": 1, "old_line": None}
    world.add_discussion(
        merge, [world.note(1, "Why not `hello`?", resolvable=True, type="DiffNote", position=position)]
    )
    passed = world.add_pipeline(project, "main", "success", "push", 456)
    world.add_job(project, passed, "test", "test", "success", "ok\n")
    failed = world.add_pipeline(project, "feature-branch", "failed", "push", 456)
    world.add_job(project, failed, "lint", "check", "success", "clean\n")
    lines = "".join(f"line {number}\n" for number in range(1, 301))
    trace = f"{lines}\x1b[31mAssertionError: 1 != 2\x1b[0;m\nERROR: Job failed: exit code 1\n"
    world.add_job(project, failed, "unit", "test", "failed", trace)
    world.add_bridge(project, failed, "deploy", project, passed)
    return project


def _public_project(world: World) -> Project:
    project = Project(124, "Open Tools", "open-tools", "group/sub", "public", None, members={456: 30, 7: 10})
    head = world.commit_files(project, "First", "User Name", {"LICENSE": b"MIT\n"})
    project.branches = {"main": head}
    for number in range(1, 46):
        state = "closed" if number % 5 == 0 else "opened"
        labels = ["feature"] if number % 2 else ["bug", "priority-high"]
        world.add_issue(
            project, 7, f"Public issue {number}", description=f"Found in run {number}.", labels=labels, state=state
        )
    return project
