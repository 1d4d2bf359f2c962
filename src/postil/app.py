"""The composition root: settings → storage → parts → catalogue → server. The one module that knows all.

Nothing heavy is imported here: a part's module is loaded when the part is first used, and what there is to offer is
read from the generated catalogue (`make docs`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from postil.core import call
from postil.core.catalogue import Catalogue, OperationEntry
from postil.core.failure import Failure
from postil.core.registry import Offer, Registry
from postil.settings.model import REDIS, BadSettings, Settings

if TYPE_CHECKING:
    from postil.core.ports import Deliveries, Delivery, EphemeralStore, Keys, State
    from postil.state_operations import StateOperations
    from postil.surfaces.composition import ServedWorkspace
    from postil.wire.server import Hooks, Server
    from postil.workspace.repository import Repository

CATALOGUE = os.path.join(os.path.dirname(__file__), "catalogue")


class Part(msgspec.Struct, frozen=True):
    """One part: how its context is made, and the groups of operations that work with it."""

    make: Callable[[App], object]
    groups: Mapping[str, str]
    """Where each group's class is, as `module:Class`. A group is made from the context when it is first used."""


class App:
    """One composed Postil: the parts share its settings, its repository and its state database."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._shared_name = ""
        self._contexts: dict[str, object] = {}
        self._lock = threading.RLock()

    @cached_property
    def repository(self) -> Repository:
        """The repository around the working folder; raises NoRepository."""
        from postil.workspace.repository import find_repository

        found = find_repository(self.settings.cwd)
        return msgspec.structs.replace(found, shared_name=self._shared_name) if self._shared_name else found

    def for_workspace(self, name: str, folder: str, keys: Keys, cache: str = "", *, shared: bool = False) -> App:
        """Returns a Postil over another folder and the same state. `shared`: its clones on many hosts are one."""
        folders = self.settings.folders
        if cache:
            folders = msgspec.structs.replace(folders, cache=cache)
        below = App(msgspec.structs.replace(self.settings, cwd=folder, folders=folders, workspaces={}))
        below._shared_name = name if shared else ""
        below.state, below._ephemeral, below._keys = self.state, self._ephemeral, keys
        return below

    def workspaces(self, hooks: Hooks, address: str) -> Mapping[str, ServedWorkspace]:
        """Returns the workspaces of the settings. `address`: where other replicas reach this one."""
        from postil.hosting.served import compose  # only gateways that serve many

        return compose(self, hooks, address)

    @cached_property
    def state(self) -> State:
        """The state database, opened on first use."""
        address = self.settings.state_address
        if "://" not in address:
            from postil.storage.sqlite import SqliteState

            return SqliteState(address)
        from postil.storage.shared import open_shared  # only where many share one

        return open_shared(address)

    def state_database(self) -> State:
        """Returns the state database, for the surfaces."""
        return self.state

    def deliveries(self) -> Deliveries:
        """Returns where events from outside are kept; what was kept about their project is forgotten."""
        return self._deliveries

    @cached_property
    def _deliveries(self) -> Deliveries:
        from postil.gitlab.events import EventLog
        from postil.gitlab.part import GitLab

        gitlab = self.context("gitlab")
        assert isinstance(gitlab, GitLab)
        kinds = self.settings.webhooks.inbox
        if not kinds or self.settings.read_only or "inbox" not in self.parts_offered():
            return EventLog(self.state, gitlab.forget_changed)
        from postil.flows.reports import Reports
        from postil.inbox.part import Inbox

        inbox = self.context("inbox")
        assert isinstance(inbox, Inbox)
        reports = Reports(EventLog(self.state), inbox, self.state, kinds, locked=self.settings.gitlab.lockdown)

        def heard(delivery: Delivery) -> None:
            gitlab.forget_changed(delivery)
            reports.wake()

        reports.start()  # first with what an earlier process kept and did not hand over
        return EventLog(self.state, heard)

    @property
    def is_shared(self) -> bool:
        """Whether other replicas see the same state."""
        return "://" in self.settings.state_address

    @cached_property
    def _ephemeral(self) -> EphemeralStore:
        if self.settings.ephemeral_address:
            if not self.settings.ephemeral_address.startswith(REDIS):
                raise BadSettings("POSTIL_EPHEMERAL names no Redis", advice="Give redis://…, or leave it out")
            from postil.storage.redis_store.redis_ephemeral import RedisEphemeralStore

            return RedisEphemeralStore(self.settings.ephemeral_address)
        from postil.storage.ephemeral import MemoryEphemeralStore

        return MemoryEphemeralStore()

    def counts(self) -> dict[str, float]:
        """Returns what the living parts and the ephemeral store count, for the metrics."""
        counted: dict[str, float] = {}
        for living in (*self._contexts.values(), self._ephemeral):
            counts: Callable[[], dict[str, float]] | None = getattr(living, "counts", None)
            counted |= counts() if counts is not None else {}
        return counted

    def ephemeral(self) -> EphemeralStore:
        """Returns what is shared for a moment only: by this process, or by all replicas through a Redis."""
        return self._ephemeral

    def keys(self) -> Keys:
        """Returns the idempotency keys in the state database."""
        return self._keys

    @cached_property
    def _keys(self) -> Keys:
        from postil.storage.idempotency import IdempotencyKeys  # only calls with a key pay for it

        return IdempotencyKeys(self.state)

    @property
    def state_operations(self) -> StateOperations:
        """What keeps the state well."""
        from postil.state_operations import StateOperations

        return StateOperations(self.settings, self.state_database)

    def context(self, part: str) -> object:
        """Returns the part's context, made once for all registries of this App."""
        with self._lock:
            if part not in self._contexts:
                self._contexts[part] = PARTS[part].make(self)
            return self._contexts[part]

    def group(self, part: str, name: str) -> object:
        """Returns a new group of operations over the part's context."""
        return group_class(part, name)(self.context(part))

    def registry(self, parts: Iterable[str] = (), *, brought: bool = False) -> Registry:
        """Returns what these parts (all by default) offer to a person; groups are made on first use.

        Callers may have `brought` a GitLab token of their own.
        """
        catalogue = read_catalogue(parts)
        hidden = self._hidden_of_gitlab(catalogue, brought=brought)
        return Registry(
            catalogue, self.group, msgspec.structs.replace(self.settings.offer(), hidden=hidden, for_person=True)
        )

    def tools(self) -> list[OperationEntry]:
        """Returns what assistants are offered."""
        catalogue = read_catalogue()
        return Registry(catalogue, None, self._offer(catalogue)).tools

    def parts_with(self, word: str) -> Sequence[str]:
        """Returns the parts that have commands with this first word, from the generated index."""
        with open(os.path.join(CATALOGUE, "commands.json"), "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, tuple[str, ...]]).get(word, ())

    def _offer(self, catalogue: Catalogue, *, brought: bool = False) -> Offer:
        """Returns what assistants are offered. Callers may have `brought` a GitLab token of their own."""
        hidden = {"extra"}.difference(self.settings.toolsets) | self._hidden_of_gitlab(catalogue, brought=brought)
        unlisted = frozenset(f"gitlab/{name}" for name in self.settings.gitlab.unlisted_toolsets())
        return msgspec.structs.replace(self.settings.offer(), hidden=frozenset(hidden), unlisted=unlisted)

    def _hidden_of_gitlab(self, catalogue: Catalogue, *, brought: bool = False) -> frozenset[str]:
        """Returns GitLab's hidden toolsets: without a token all but `connect`, else that one."""
        gitlab = self.settings.gitlab
        if brought or gitlab.token or gitlab.token_file:
            return frozenset({"gitlab/connect"})
        every = {entry.toolset for entry in catalogue.operations if entry.part == "gitlab"}
        return frozenset({"flows/gitlab", *(f"gitlab/{toolset}" for toolset in every - {"connect"})})

    def server(self, contract: str = "", *, over_http: bool = False) -> Server:
        """The united server, or the face of one old contract. Over HTTP callers bring a GitLab token of their own."""
        from postil.contracts import CONTRACTS, united  # only a server pays for the wire
        from postil.wire.server import Server

        if contract:
            face, catalogue = CONTRACTS[contract].face, CONTRACTS[contract].only(contract, read_catalogue([contract]))
        else:
            face = united(self.settings.website)
            catalogue = _describe_with_outputs() if self.settings.structured else read_catalogue()
        registry = Registry(catalogue, self.group, self._offer(catalogue, brought=over_http))
        return Server(registry, face, keys=self.keys, secret=self._request_state_key)

    def _request_state_key(self) -> bytes:
        from postil import secret

        return secret.subkey(secret.load(self.settings), "request-state")

    def parts_offered(self) -> tuple[str, ...]:
        """Returns the names of the parts that the settings leave on."""
        offer = self.settings.offer()
        return tuple(name for name in PARTS if offer.includes_part(name))

    def glances(self) -> list[tuple[str, str]]:
        """Returns one line from every part: of its method that is marked with `@glance`, or of the settings."""
        registry = self.registry()
        lines: list[tuple[str, str]] = []
        for number, entry in enumerate(registry.glances):
            call.current().progress(number, len(registry.glances), f"looking at {entry.part}")
            try:
                lines.append((entry.part, registry.method(entry)()))
            except Failure as failure:  # one part that cannot work here must not hide the others
                lines.append((entry.part, failure.message))
        if "gitlab" in self.parts_offered():  # from the settings: neither the network nor the part's code is needed
            gitlab = self.settings.gitlab
            connected = gitlab.token or gitlab.token_file
            says = f"a token for {gitlab.url} is configured" if connected else "not connected (postil gitlab connect)"
            lines.append(("gitlab", says))
        return lines


def _workspace(app: App) -> object:
    from postil.workspace.part import Workspace

    def git_settings() -> Mapping[str, str]:
        from postil.comments.operations.maintenance import list_settings
        from postil.workspace.program import find_own_program

        return list_settings(find_own_program())

    checked = app.state_operations.find_damage
    return Workspace(lambda: app.repository, app.parts_offered, app.glances, checked, git_settings)


def _inbox(app: App) -> object:
    from postil.inbox.part import Inbox

    config = os.path.dirname(app.settings.folders.config)
    inbox = Inbox(lambda: app.state, lambda: app.repository, app.settings.cwd, config, app.settings.terminal)
    inbox.drafts_first = app.settings.inbox.draft
    return inbox


def _comments(app: App) -> object:
    from postil.comments.part import CommentsContext

    cautious = app.settings.anchoring.caution == "high"
    return CommentsContext(app.settings.cwd, cache_home=app.settings.folders.cache, cautious=cautious)


def _tracker(app: App) -> object:
    from postil.tracker.issues import Issues

    return Issues(lambda: app.repository, app.settings.folders.cache, app.settings.terminal.editor)


def _gitlab(app: App) -> object:
    from postil.gitlab.events import EventLog
    from postil.gitlab.instance.cache import ResponseCache
    from postil.gitlab.instance.client import Instance
    from postil.gitlab.instance.connection import Connection
    from postil.gitlab.part import GitLab
    from postil.gitlab.policy.guard import Guard, Policy
    from postil.gitlab.standing import WorkTree

    gitlab = app.settings.gitlab
    connection = Connection(
        Instance(gitlab.url, read_only=app.settings.read_only, trust=gitlab.trust, proxy=gitlab.proxy),
        gitlab.read_token,
        projects=gitlab.projects,
        allow_quick_actions=gitlab.allow_quick_actions,
        cache=ResponseCache(app.ephemeral(), shared=bool(app.settings.ephemeral_address)),
        guard=Guard(Policy(gitlab.lockdown, gitlab.no_private_to_public), app.ephemeral()),
    )

    def look_around() -> WorkTree:
        from postil.gitlab.git_remotes import read_work_tree

        return read_work_tree(app.repository)

    return GitLab(
        connection,
        EventLog(app.state),
        look_around,
        app.settings.webhooks.allowed_hosts,
        callers_bring_tokens=app.settings.http.auth == "pat",
    )


def _flows(app: App) -> object:
    return app.registry(brought=True).operation  # whether there is a token, each call decides


# A part adds its lines here: how its context is made from the App, and where its groups of operations are.
PARTS: dict[str, Part] = {
    "workspace": Part(
        _workspace,
        {
            "status": "postil.workspace.operations.status:Overview",
            "tracked_files": "postil.workspace.operations.tracked_files:TrackedFiles",
            "changes": "postil.workspace.operations.changes:ChangeTools",
            "leftovers": "postil.workspace.operations.checks:Leftovers",
            "checks": "postil.workspace.operations.checks:WorkspaceChecks",
            "watching": "postil.workspace.operations.checks:Watching",
        },
    ),
    "inbox": Part(
        _inbox,
        {
            "people": "postil.inbox.operations.for_people:PeopleTools",
            "assistants": "postil.inbox.operations.for_assistants:AssistantTools",
            "lazygit": "postil.inbox.operations.for_lazygit:LazygitTools",
            "reviews": "postil.inbox.operations.for_reviews:ReviewTools",
            "review_requests": "postil.inbox.operations.for_requests:RequestTools",
            "reviewed": "postil.inbox.operations.reviewed_files:ReviewedFiles",
            "find": "postil.inbox.operations.find_messages:FindTools",
            "resources": "postil.inbox.operations.resources:MessageResources",
        },
    ),
    "comments": Part(
        _comments,
        {
            "contract": "postil.comments.operations.contract:ContractTools",
            "by_id": "postil.comments.operations.by_id:CommentsById",
            "glance": "postil.comments.operations.glance:Glance",
            "relocate": "postil.comments.operations.relocate:RelocateTools",
            "review": "postil.comments.operations.review:ReviewTools",
            "views": "postil.comments.operations.views:ViewTools",
            "history": "postil.comments.operations.history:HistoryTools",
            "transfer": "postil.comments.operations.transfer:TransferTools",
            "maintenance": "postil.comments.operations.maintenance:MaintenanceTools",
            "resources": "postil.comments.operations.resources:CommentResources",
            "prompts": "postil.comments.operations.prompts:CommentPrompts",
        },
    ),
    "tracker": Part(
        _tracker,
        {
            "contract": "postil.tracker.operations.contract:ContractTools",
            "assistant": "postil.tracker.operations.assistant:AssistantTools",
            "planning": "postil.tracker.operations.planning:Planning",
            "bulk": "postil.tracker.operations.bulk_edit:BulkEdit",
            "comment_edit": "postil.tracker.operations.comment_edit:CommentEdit",
            "history": "postil.tracker.shell.history:HistoryCommands",
            "conflicts": "postil.tracker.shell.conflicts:ConflictCommands",
            "sync": "postil.tracker.shell.sync:SyncCommands",
            "transfer": "postil.tracker.shell.transfer:TransferCommands",
            "queries": "postil.tracker.operations.saved_queries:QueryCommands",
            "chart": "postil.tracker.operations.chart:ChartCommands",
            "board": "postil.tracker.board.show_board:BoardCommands",
            "cards": "postil.tracker.operations.cards:Cards",
            "identity": "postil.tracker.shell.identity:IdentityCommands",
            "resources": "postil.tracker.operations.resources:Resources",
            "status": "postil.tracker.operations.status:Status",
        },
    ),
    "gitlab": Part(
        _gitlab,
        {
            "connect": "postil.gitlab.operations.how_to_connect:ConnectOperations",
            "projects": "postil.gitlab.operations.projects:ProjectOperations",
            "issues": "postil.gitlab.operations.issues:IssueOperations",
            "merge_requests": "postil.gitlab.operations.merge_requests:MergeRequestOperations",
            "review": "postil.gitlab.operations.reviews:ReviewOperations",
            "compare": "postil.gitlab.operations.compare:CompareOperations",
            "pipelines": "postil.gitlab.operations.pipelines:PipelineOperations",
            "repository": "postil.gitlab.operations.repository:RepositoryOperations",
            "history": "postil.gitlab.operations.history:HistoryOperations",
            "people": "postil.gitlab.operations.people:PeopleOperations",
            "webhooks": "postil.gitlab.operations.webhooks:WebhookOperations",
            "events": "postil.gitlab.operations.events:EventOperations",
        },
    ),
    "flows": Part(
        _flows,
        {
            "promotion": "postil.flows.promotion:PromotionFlows",
            "app_views": "postil.flows.app_views:AppViews",
        },
    ),
}


def group_class(part: str, name: str) -> type[Any]:
    """Returns the class of a group. Imports its module."""
    from importlib import import_module

    module, _, owner = PARTS[part].groups[name].partition(":")
    return getattr(import_module(module), owner)


def read_catalogue(parts: Iterable[str] = ()) -> Catalogue:
    """Returns the generated catalogue of these parts (all by default), in the order of PARTS. Imports no part."""
    decoder = msgspec.json.Decoder(Catalogue)
    whole = Catalogue([], [], [], [], [], [], [])
    for name in parts or PARTS:
        with open(os.path.join(CATALOGUE, f"{name}.json"), "rb") as file:
            one = decoder.decode(file.read())
        whole.operations.extend(one.operations)
        whole.resources.extend(one.resources)
        whole.prompts.extend(one.prompts)
        whole.checks.extend(one.checks)
        whole.announcers.extend(one.announcers)
        whole.glances.extend(one.glances)
        whole.completers.extend(one.completers)
    return whole


def _describe_with_outputs() -> Catalogue:
    """Returns the catalogue of all parts with the schemas of their results. Imports all of them."""
    from postil.core.arguments.published import describe  # a start reads what was generated

    every = [(part, group, group_class(part, group)) for part in PARTS for group in PARTS[part].groups]
    return describe(every, outputs=True)


def describe_part(name: str) -> Catalogue:
    """Returns the catalogue of one part from its classes: what the generated file has to equal."""
    from postil.core.arguments.published import describe  # a start reads what was generated

    return describe([(name, group, group_class(name, group)) for group in PARTS[name].groups])
