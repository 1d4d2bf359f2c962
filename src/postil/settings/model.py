"""What the user decided: one frozen struct, made once at the edge (`load.py`) and handed down."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from postil.core.codes import INVALID_PARAMS
from postil.core.failure import Failure
from postil.core.registry import Offer
from postil.workspace.disk import read_named

if TYPE_CHECKING:
    from ssl import SSLContext

Layer: TypeAlias = dict[str, Any]
Drawer: TypeAlias = Literal["", "tmux", "kitty", "wezterm", "zellij"]
REDIS = ("redis://", "rediss://", "unix://")
Auth: TypeAlias = Literal["", "local", "pat", "key", "oauth"]
Toolset: TypeAlias = Literal[
    "all", "review", "ci", "issues", "code", "admin",
    "projects", "merge_requests", "pipelines", "repository", "webhooks",
]  # fmt: skip
"""GitLab's toolsets; those of the second line are the names that 0.1 had for them."""
PartName: TypeAlias = Literal["workspace", "inbox", "comments", "tracker", "gitlab", "flows"]
EARLIER_TOOLSETS = {"merge_requests": "review", "pipelines": "ci", "repository": "code", "webhooks": "admin"}
USUAL_TOOLSETS = ("review", "ci")


class BadSettings(Failure):
    """A setting that cannot be used; says where it stands."""

    code = INVALID_PARAMS
    exit_status = 2


class GitLabSettings(Struct, frozen=True, omit_defaults=True):
    """Which GitLab, and what of it. The token itself comes from the environment or from a file, never from settings."""

    url: str = "https://gitlab.com"
    token_file: str = ""
    ca_file: str = ""
    """Certificates (PEM) to trust instead of the system's: for an instance whose authority is its owner's own."""
    proxy: str = ""
    """The proxy through which GitLab is reached; HTTPS_PROXY and HTTP_PROXY where this is empty."""
    projects: tuple[str, ...] = ()
    """Only these projects (`group/name` or number) may be touched; empty means all that the token may."""
    toolsets: tuple[Toolset, ...] = ()
    """Which tools assistants see beside those of the contract; empty means `review` and `ci`."""
    allow_quick_actions: bool = False
    """Whether lines such as `/close` in texts we send are left for GitLab to execute."""
    lockdown: bool = False
    """Words in public projects by people below Developer there are withheld."""
    no_private_to_public: bool = False
    """A caller that has read a project cannot write to a more visible one for an hour."""
    token: str = ""

    def __repr__(self) -> str:
        return f"GitLabSettings(url={self.url!r}, token={'set' if self.token or self.token_file else 'not set'})"

    def unlisted_toolsets(self) -> frozenset[str]:
        """Returns the toolsets whose operations are methods and commands, but no tools."""
        chosen = {EARLIER_TOOLSETS.get(name, name) for name in self.toolsets or USUAL_TOOLSETS}
        every = {"review", "ci", "issues", "code", "admin"}
        return frozenset() if "all" in chosen else frozenset(every - chosen)

    def read_token(self) -> str:
        """Returns the token, or an empty text when none is configured. Raises BadSettings."""
        if self.token or not self.token_file:
            return self.token
        path = os.path.expanduser(self.token_file)
        try:
            return read_named(path, 4096).decode("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise BadSettings(
                f"The GitLab token file {path} cannot be read: {reason}",
                advice="Put the token into that file (mode 0600), or set GITLAB_TOKEN",
            ) from error

    def trust(self) -> SSLContext | bool:
        """Returns whose certificates are believed: those of the file alone, or True for those the library knows."""
        if not self.ca_file:
            return True
        import ssl  # 5 ms, and only those who speak TLS need it

        path = os.path.expanduser(self.ca_file)
        try:
            return ssl.create_default_context(cafile=path)
        except OSError as error:  # an SSLError is one
            reason = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
            raise BadSettings(
                f"The certificates in {path} cannot be used: {reason}",
                advice="Name a file of PEM certificates as GITLAB_CA_FILE, or leave it out to trust the system's",
            ) from None


class HttpSettings(Struct, frozen=True, omit_defaults=True):
    """How the HTTP server listens and whom it lets in."""

    address: str = "127.0.0.1:3000"
    auth: Auth = ""
    tls_cert: str = ""
    tls_key: str = ""
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    """Pages of other sites that a browser may let speak to this server: origins, by name."""
    sse: bool = False
    """Whether the transport of 2024-11-05 is served too, at `/sse` and `/messages`."""
    trusted_proxies: tuple[str, ...] = ()
    forwarded_header: Literal["x-forwarded-for", "forwarded"] = "x-forwarded-for"
    """The one header in which those proxies say where a request comes from."""
    behind_proxy: bool = False
    """Whether a proxy in front speaks HTTPS. Without it or a certificate, plain HTTP stays on this machine."""
    members: tuple[str, ...] = ()
    """Who else than the local user may read this workspace's comments, issues and inbox."""
    callers: tuple[str, ...] = ()
    """Who may call at all in the mode `pat`, as in `members`, and groups as `group:PATH`; empty means all of GitLab."""
    operators: tuple[str, ...] = ()
    """Who else than the local user may read `/metrics`: principals, as the audit names them."""
    access_log: str = ""
    """The file that gets a line for each request; `-` is stderr, nothing means none."""
    peer_address: str = ""
    """Where other replicas reach this one (`http://10.0.0.5:3000`); empty means the address it listens on."""


class WorkspaceSettings(Struct, frozen=True, omit_defaults=True):
    """One of many workspaces that a gateway serves, at `/w/NAME/mcp`."""

    path: str = ""
    """Where it is on this machine; of a remote one, where this machine's clone is kept."""
    remote: str = ""
    """The repository that the clones of many hosts share: one host at a time writes, the others forward to it."""
    branch: str = ""
    """Which branch is served of a remote one; empty means the one that its HEAD names."""
    members: tuple[str, ...] = ()
    """Who may use it: `alice`, `id:42`, `oauth:SUBJECT`, `key:NAME`, or `*` for everybody who is let in."""
    readers: tuple[str, ...] = ()
    """Who may only read it."""


class OAuthSettings(Struct, frozen=True, omit_defaults=True):
    """Whose tokens are taken in the mode `oauth`: those that this issuer made for this server's address."""

    issuer: str = ""
    resource: str = ""
    """This server's address as its tokens name it: https://postil.example.org/mcp."""
    jwks_url: str = ""
    """Where the issuer's keys are; found through its metadata when empty."""
    scopes: tuple[str, ...] = ()
    """Scopes that every token must have."""
    gitlab_claim: str = "preferred_username"
    """The claim that holds a user's GitLab name: whose token they may give us."""


class LimitSettings(Struct, frozen=True, omit_defaults=True):
    """How much one token may ask; 0 turns a limit off."""

    per_minute: int = 600
    in_flight: int = 100


class SecuritySettings(Struct, frozen=True, omit_defaults=True):
    """Address lists and request signatures."""

    ip_whitelist: tuple[str, ...] = ()
    blocked_ips: tuple[str, ...] = ()
    signature: Literal["off", "optional", "required"] = "optional"
    signing_key_files: tuple[str, ...] = ()
    webhook_key_files: tuple[str, ...] = ()
    require_timestamp: bool | None = None
    """Whether a signature must cover a time; where nothing is said, when signatures are required."""


class WebhookSettings(Struct, frozen=True, omit_defaults=True):
    """What becomes of events that GitLab's webhooks bring, besides being kept."""

    inbox: tuple[Literal["push", "issues", "merge_requests", "pipelines", "wiki", "notes"], ...] = ()
    """These become messages of the served repository's inbox."""
    allowed_hosts: tuple[str, ...] = ()
    """Hosts to which a webhook may point although they are not on the open internet, or not https."""


class StateSettings(Struct, frozen=True, omit_defaults=True):
    """Where shared state lives, and what is expected of it."""

    address: str = ""
    """A file, `postgresql://…` or `redis://…`; empty means `state.db` in the state folder."""
    ephemeral: str = ""
    """Where what may vanish lives (limits, nonces, sessions): `redis://…`; empty: the state's Redis, or memory."""
    durability: Literal["checked", "stated", "none"] = "checked"
    """Whether the server is asked what it promises, or the operator promises it, or loss is accepted."""


class AnchoringSettings(Struct, frozen=True, omit_defaults=True):
    """How comments follow their code."""

    caution: Literal["normal", "high"] = "normal"
    """With `high` a place that is less than 95 % sure is left to a person."""


class InboxSettings(Struct, frozen=True, omit_defaults=True):
    """How remarks are sent."""

    draft: bool = False
    """A remark is a draft until `postil inbox submit` sends all of them."""


class Folders(Struct, frozen=True):
    """Where Postil keeps its own things (XDG)."""

    config: str
    state: str
    cache: str
    home: str = ""


class Terminal(Struct, frozen=True):
    """What the environment says about the person's terminal and programs."""

    color: Literal["auto", "always", "never"] = "auto"
    pager: str = ""
    editor: str = ""
    shell: str = ""
    drawer: Drawer = ""
    """The program that draws the screen and can be asked for it."""
    pane: str = ""
    """Its name for the part of the screen that we run in."""
    lazygit_configs: tuple[str, ...] = ()
    """The files that LG_CONFIG_FILE tells lazygit to merge."""
    clipboards: tuple[str, ...] = ()
    """The programs that may reach the person's clipboard, the likely first."""
    can_browse: bool = True
    """Whether a browser would open before this person: not over ssh, and not without a screen."""


class TelemetrySettings(Struct, frozen=True, omit_defaults=True):
    """What is told to whoever watches the servers."""

    traces: Literal["", "otlp"] = ""
    """Where spans of calls are sent, by OpenTelemetry; nowhere by default."""


class Settings(Struct, frozen=True, omit_defaults=True):
    """Everything that can be decided from outside."""

    parts: tuple[PartName, ...] = ()
    """Only these parts; empty means all."""
    read_only: bool = False
    allow_tools: tuple[str, ...] = ()
    deny_tools: tuple[str, ...] = ()
    toolsets: tuple[Literal["extra"], ...] = ()
    """Sets of tools that assistants get beyond the usual ones: `extra`."""
    structured: bool = False
    """Whether tools declare schemas of their results and send them beside the text: for programs, not for models."""
    website: Annotated[str, Meta(pattern=r"^(https?://[^\s\x00-\x20<>\"]+)?$", max_length=2000)] = ""
    """The address that clients are told, for people. Over HTTP it is otherwise the page's, where that is known."""
    state: StateSettings = StateSettings()
    gitlab: GitLabSettings = GitLabSettings()
    http: HttpSettings = HttpSettings()
    workspaces: dict[str, WorkspaceSettings] = {}
    """More workspaces that the gateway serves, by name."""
    oauth: OAuthSettings = OAuthSettings()
    limits: LimitSettings = LimitSettings()
    security: SecuritySettings = SecuritySettings()
    webhooks: WebhookSettings = WebhookSettings()
    anchoring: AnchoringSettings = AnchoringSettings()
    inbox: InboxSettings = InboxSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    folders: Folders = Folders("", "", "")
    terminal: Terminal = Terminal()
    cwd: str = "."
    secret: str = ""
    debug: bool = False
    warnings: tuple[str, ...] = ()
    """What was refused while reading the files, in sentences."""
    origins: dict[str, str] = {}
    """Who decided what is offered: of those settings that were given, the file, the variable or the flag."""

    def __repr__(self) -> str:
        return f"Settings(parts={self.parts!r}, read_only={self.read_only!r}, gitlab={self.gitlab!r})"

    @property
    def state_address(self) -> str:
        """The state database: a path, or an address such as `postgresql://host/postil`."""
        return self.state.address or os.path.join(self.folders.state, "state.db")

    @property
    def ephemeral_address(self) -> str:
        """The Redis for what may vanish; empty where that is this process's memory."""
        if self.state.ephemeral:
            return self.state.ephemeral
        return self.state.address if self.state.address.startswith(REDIS) else ""

    def offer(self) -> Offer:
        """Returns which operations these settings leave visible."""
        parts = (*self.parts, "workspace") if self.parts and "workspace" not in self.parts else self.parts
        return Offer(parts, self.read_only, self.allow_tools, self.deny_tools)


if sys.platform == "win32":  # pragma: no cover
    raise ImportError("Postil needs a POSIX system: it keeps its promises with fsync, flock and file modes")
