"""Reading the settings: flags before the environment, before the user's file, before the repository's file.

This is the only reader of environment variables; `files.py` reads the files and is imported only when one exists.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Literal

import msgspec

from postil.settings.model import BadSettings, Drawer, Folders, GitLabSettings, Layer, Settings, Terminal
from postil.workspace.disk import find_git_roots

ENVIRONMENT = {
    "POSTIL_PARTS": "parts",
    "POSTIL_READ_ONLY": "read_only",
    "POSTIL_ALLOW_TOOLS": "allow_tools",
    "POSTIL_DENY_TOOLS": "deny_tools",
    "POSTIL_TOOLSETS": "toolsets",
    "POSTIL_STRUCTURED": "structured",
    "POSTIL_WEBSITE": "website",
    "POSTIL_STATE": "state.address",
    "POSTIL_EPHEMERAL": "state.ephemeral",
    "POSTIL_STATE_DURABILITY": "state.durability",
    "POSTIL_HTTP": "http.address",
    "POSTIL_AUTH": "http.auth",
    "POSTIL_BEHIND_PROXY": "http.behind_proxy",
    "POSTIL_ALLOWED_HOSTS": "http.allowed_hosts",
    "POSTIL_CORS_ORIGINS": "http.cors_origins",
    "POSTIL_SSE": "http.sse",
    "POSTIL_TRUSTED_PROXIES": "http.trusted_proxies",
    "POSTIL_PEER_ADDRESS": "http.peer_address",
    "POSTIL_MEMBERS": "http.members",
    "POSTIL_CALLERS": "http.callers",
    "POSTIL_ACCESS_LOG": "http.access_log",
    "POSTIL_WEBHOOKS_INBOX": "webhooks.inbox",
    "POSTIL_WEBHOOKS_ALLOWED_HOSTS": "webhooks.allowed_hosts",
    "POSTIL_ANCHORING_CAUTION": "anchoring.caution",
    "POSTIL_INBOX_DRAFT": "inbox.draft",
    "POSTIL_TRACES": "telemetry.traces",
    "GITLAB_URL": "gitlab.url",
    "GITLAB_TOKEN_FILE": "gitlab.token_file",
    "GITLAB_CA_FILE": "gitlab.ca_file",
    "GITLAB_TOKEN": "gitlab.token",
    "GITLAB_PROXY": "gitlab.proxy",
    "GITLAB_TOOLSETS": "gitlab.toolsets",
    "GITLAB_PROJECTS": "gitlab.projects",
    "GITLAB_LOCKDOWN": "gitlab.lockdown",
}
"""The variables that are settings, and which."""
_OFFERING = [
    (name, key) for name, key in ENVIRONMENT.items() if key in ("parts", "read_only", "allow_tools", "deny_tools")
]
"""The settings that decide what is offered."""
_LISTS = {
    "parts", "allow_tools", "deny_tools", "toolsets", "webhooks.inbox", "webhooks.allowed_hosts", "http.allowed_hosts",
    "http.cors_origins", "http.trusted_proxies", "http.members", "http.callers", "gitlab.toolsets", "gitlab.projects",
}  # fmt: skip


def _find_cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        advice = "Change to a folder that exists, or name one with -C FOLDER"
        raise BadSettings("The folder you are in was removed", advice=advice) from None


def load(
    environ: Mapping[str, str] | None = None, cwd: str = "", flags: Layer | None = None, file: str = ""
) -> Settings:
    """Returns the settings of this process; `flags` and `file` come from the command line. Raises BadSettings."""
    environ = os.environ if environ is None else environ
    cwd = cwd or _find_cwd()
    folders = find_folders(environ)
    layers: list[tuple[str, Layer]] = []
    warnings: tuple[str, ...] = ()
    found = _find_files(folders.config, cwd, file or environ.get("POSTIL_CONFIG", ""))
    if found != ("", ""):
        from postil.settings.files import read_layers  # only those who have a file pay for reading it

        layers, warnings = read_layers(*found)
    layers += [("", _read_environment(environ)), ("a flag", flags or {})]
    decided = _merge([layer for _, layer in layers])
    if decided.get("secret") or decided.get("folders"):  # files and flags must not set these
        raise BadSettings("These settings cannot be given: secret, folders")
    settings = _convert(decided)
    return msgspec.structs.replace(
        settings,
        gitlab=_find_proxy(settings.gitlab, environ),
        folders=folders,
        terminal=_read_terminal(environ),
        cwd=cwd,
        secret=environ.get("POSTIL_SECRET", ""),
        debug=environ.get("POSTIL_DEBUG", "") not in ("", "0"),
        warnings=warnings,
        origins={key: name or variable for name, layer in layers for variable, key in _OFFERING if key in layer},
    )


def find_folders(environ: Mapping[str, str]) -> Folders:
    """Returns the XDG folders. A relative value is ignored, as the specification says."""
    home = environ.get("HOME") or os.path.expanduser("~")

    def folder(name: str, default: str) -> str:
        given = environ.get(name, "")
        return os.path.join(given if os.path.isabs(given) else os.path.join(home, default), "postil")

    return Folders(
        folder("XDG_CONFIG_HOME", ".config"),
        folder("XDG_STATE_HOME", ".local/state"),
        folder("XDG_CACHE_HOME", ".cache"),
        home,
    )


def _find_files(config: str, cwd: str, named: str) -> tuple[str, str]:
    """Returns the user's file and the repository's, each empty where there is none. Costs a few stats, no import."""
    if named and not os.path.isfile(named):
        raise BadSettings(f"There is no settings file {named}", advice="Check --config and POSTIL_CONFIG")
    user = named or _find_first(config)
    root = next(find_git_roots(os.path.realpath(cwd)), "")
    return user, _find_first(root) if root else ""


def _find_first(folder: str) -> str:
    for name in ("postil.toml", "postil.yaml", "postil.yml"):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return ""


def _read_environment(environ: Mapping[str, str]) -> Layer:
    layer: Layer = {}
    for name, key in ENVIRONMENT.items():
        value = environ.get(name, "")
        if not value:
            continue
        section, _, field = key.rpartition(".")
        target = layer.setdefault(section, {}) if section else layer
        target[field] = [item.strip() for item in value.split(",") if item.strip()] if key in _LISTS else value
    if "read_only" in layer:
        layer["read_only"] = str(layer["read_only"]).lower() in ("1", "true", "yes", "on")
    return layer


def _find_proxy(gitlab: GitLabSettings, environ: Mapping[str, str]) -> GitLabSettings:
    """Returns the settings with the proxy that the environment names for this GitLab, as other programs read it."""
    if gitlab.proxy:
        return gitlab
    scheme = gitlab.url.partition("://")[0].lower()
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    found = next((environ[name] for name in names if environ.get(name)), "")
    if not found or _is_excepted(gitlab.url, environ.get("no_proxy") or environ.get("NO_PROXY") or ""):
        return gitlab
    return msgspec.structs.replace(gitlab, proxy=found if "://" in found else f"http://{found}")


def _is_excepted(url: str, names: str) -> bool:
    """Returns whether a host is reached without the proxy: named in NO_PROXY, or below a name there."""
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()
    excepted = [name.strip().lower().lstrip(".").partition(":")[0] for name in names.split(",") if name.strip()]
    return "*" in excepted or any(host == name or host.endswith(f".{name}") for name in excepted)


def _merge(layers: list[Layer]) -> Layer:
    merged: Layer = {}
    for layer in layers:
        for key, value in layer.items():
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
    return merged


def _convert(decided: Layer) -> Settings:
    if not decided:
        return Settings()
    try:
        return msgspec.convert(decided, Settings, strict=False)
    except msgspec.ValidationError as error:
        from postil.settings.files import list_words  # only who is wrong pays for it

        said = f"A setting cannot be used: {error}{list_words(str(error))}"
        raise BadSettings(said, advice="Check the flags, the environment and postil.toml") from None


def _read_terminal(environ: Mapping[str, str]) -> Terminal:
    color: Literal["auto", "always", "never"]
    if any(environ.get(name, "") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        color = "always"
    elif (
        environ.get("NO_COLOR")
        or "0" in (environ.get("FORCE_COLOR"), environ.get("CLICOLOR"))
        or environ.get("TERM") == "dumb"
    ):
        color = "never"
    else:
        color = "auto"
    drawer, pane = _read_drawer(environ)
    return Terminal(
        color=color,
        pager=environ.get("POSTIL_PAGER") or environ.get("PAGER") or "",
        editor=environ.get("GIT_MILE_EDITOR") or environ.get("VISUAL") or environ.get("EDITOR") or "",
        shell=environ.get("SHELL", ""),
        drawer=drawer,
        pane=pane,
        can_browse=_can_browse(environ),
        lazygit_configs=tuple(path for path in environ.get("LG_CONFIG_FILE", "").split(",") if path),
        clipboards=_list_clipboards(environ),
    )


def _list_clipboards(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the programs that may reach the clipboard of the screen that the person sits at."""
    found = ["wl-copy"] if environ.get("WAYLAND_DISPLAY") else []
    found += ["xclip", "xsel"] if environ.get("DISPLAY") else []
    found += ["pbcopy"] if sys.platform == "darwin" and not environ.get("SSH_TTY") else []
    found += ["clip.exe"] if environ.get("WSL_DISTRO_NAME") else []
    return tuple(found)


def _can_browse(environ: Mapping[str, str]) -> bool:
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    named = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
    return os.uname().sysname != "Linux" or any(environ.get(name) for name in named)


def _read_drawer(environ: Mapping[str, str]) -> tuple[Drawer, str]:
    """Returns the innermost program that draws the screen: one may run inside another, and tmux inside all."""
    if environ.get("TMUX") and environ.get("TMUX_PANE"):
        return "tmux", environ["TMUX_PANE"]
    if environ.get("ZELLIJ_PANE_ID"):
        return "zellij", f"terminal_{environ['ZELLIJ_PANE_ID']}"
    if environ.get("WEZTERM_PANE"):
        return "wezterm", environ["WEZTERM_PANE"]
    if environ.get("KITTY_WINDOW_ID") and environ.get("KITTY_LISTEN_ON"):
        return "kitty", environ["KITTY_WINDOW_ID"]
    return "", ""
