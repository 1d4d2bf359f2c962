"""The flags of `postil serve` for one client on stdio. An assistant's entry may have these, and no others."""

from __future__ import annotations

import argparse

from postil.surfaces.shell.flags import Parser

PARTS = ("workspace", "inbox", "comments", "tracker", "gitlab", "flows")


def read_stdio_flags(words: list[str], *, config: bool = False) -> dict[str, object]:
    """Returns what these flags say, as `serve` reads them; with `config` also a settings file. Raises Usage."""
    parser = Parser(
        "postil serve", "Serve one assistant over stdio", argument_default=argparse.SUPPRESS, add_help=False
    )
    add_stdio_flags(parser)
    if config:
        parser.add_argument("--config")
    return vars(parser.parse_args(words))


def add_stdio_flags(parser: Parser) -> None:
    """Add the flags that mean something over stdio."""
    parser.add_argument("--parts", type=_split, help=f"only these, by comma: {', '.join(PARTS)}")
    parser.add_argument("--read-only", action="store_true", dest="read_only", help="hide everything that changes")
    parser.add_argument("--allow-tool", action="append", dest="allow_tools", metavar="NAME", help="only these; * fits")
    parser.add_argument("--deny-tool", action="append", dest="deny_tools", metavar="NAME", help="never these; * fits")
    parser.add_argument("--toolset", action="append", dest="toolsets", choices=("extra",), help="offer these tools too")
    parser.add_argument(
        "--structured", action="store_true", help="send results also as structured content: for programs, not models"
    )
    parser.add_argument(
        "--handshake-timeout",
        dest="handshake",
        type=_seconds,
        metavar="S",
        help="stdio: end when no client introduces itself within S seconds",
    )
    parser.add_argument(
        "--idle-shutdown", dest="idle", type=_seconds, metavar="S", help="end after S seconds without a request or page"
    )
    parser.add_argument(
        "--log-level",
        dest="level",
        choices=("error", "warn", "info", "debug", "trace"),
        help="stdio: what is told on stderr (default: error)",
    )


def _seconds(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"{word!r} is not a number of seconds greater than 0")
    return seconds


def _split(words: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in words.split(",") if word.strip())
