"""The call in progress: who calls, how far it is, whether it was given up, and questions back to the client.

A context variable, silent by default: code that reports progress works the same in a test, the shell and on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from msgspec import Struct

from postil.core.failure import Cancelled, Failure

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Level: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LEVELS: tuple[Level, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

LOCAL = "local"
"""The principal of the person whose machine and workspace this is."""


class Caller(Struct, frozen=True):
    """Who calls: `principal` is stable across connections, `client` is one of them."""

    principal: str = LOCAL
    client: str = ""
    surface: Literal["library", "shell", "stdio", "http"] = "library"
    credential: str = ""
    """A secret the caller brought for an upstream service; never logged, never stored."""
    name: str = ""
    """What those who let the caller in call it: of an access key its name, of a GitLab user the username."""
    types: bool = False
    """Whether the command is read from a terminal, wherever its answers and errors go."""

    def signed(self, author: str) -> bool:
        """Returns whether `Call.sign` wrote this author for the caller, whatever they were called by then."""
        if self.principal == LOCAL:
            return not author
        spelled = _spell(self.principal)
        return author == spelled or author.startswith(f"{spelled} (")

    def __repr__(self) -> str:
        return f"Caller(principal={self.principal!r}, client={self.client!r}, surface={self.surface!r})"


class Question(Struct, frozen=True):
    """Something asked of the client in the middle of a call: elicitation, sampling or roots."""

    method: str
    params: Mapping[str, object] = {}


class Call:
    """One call. The surfaces subclass it; this one listens to nobody."""

    cancelled: bool = False
    interactive: bool = False
    """Whether a person sits at a terminal and may be asked or shown an editor."""
    person: bool = False
    """Whether a person typed this call at this machine; otherwise an assistant or a program calls."""
    columns: int = 0
    """How wide the caller's terminal is; 0 where there is none."""
    colors: bool = False
    """Whether the answer may be coloured (`core.others.visible.styled`)."""
    _labels: set[str] | None = None

    def __init__(self, caller: Caller | None = None) -> None:
        self.caller = caller or Caller()

    @property
    def reveals_paths(self) -> bool:
        """Whether the caller may be told absolute paths of this machine."""
        return self.caller.surface != "http"

    @property
    def labels(self) -> set[str]:
        """What is to be said of where the answer came from: `private`."""
        if self._labels is None:
            self._labels = set()
        return self._labels

    @property
    def trace(self) -> Mapping[str, str]:
        """The trace that this call belongs to, as headers for what it asks elsewhere; empty where there is none."""
        return {}

    def resolve(self, path: str, root: str) -> str:
        """Returns a path that the caller gave, relative to `root`. Only people count from the folder they stand in."""
        return path

    def sign(self, claimed: str, longest: int = 0) -> str:
        """Returns the author of what the caller writes, in at most so many characters where there is a limit.

        The local user's word is taken. Of anybody else it is the verified principal with the name that is known of
        it, and the name given is what they claim: `key:… (bob as claude)`. Where that is too long, the claim is cut
        first; two principals never have the same author.
        """
        principal, known = self.caller.principal, self.caller.name
        if principal == LOCAL:
            return claimed
        named = " as ".join(dict.fromkeys(name for name in (known, claimed) if name))
        spelled = _spell(principal)
        signed = f"{spelled} ({named})" if named else spelled
        return signed if not longest or len(signed) <= longest else _shorten(principal, named, longest)

    def tell_moment(self, moment: str, plain: str = "") -> str:
        """Returns a moment as its reader wants it: people at a terminal are told how long ago it was.

        All others get `plain`, a shorter form of it, or the moment itself.
        """
        return plain or moment

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far the work is; `done` only grows."""

    def log(self, level: Level, data: object, logger: str = "") -> None:
        """Tell the client something it asked to hear. Never a person's text or a secret."""

    def tell_damage(self, what: str) -> None:
        """Say that the answer may lack something, because what it is read from is damaged: a shell ends with 7."""
        self.log("error", what)

    @property
    def is_heard(self) -> bool:
        """Whether anybody reads the answer just now: what waits hands nothing to a client that is away."""
        return True

    def when_delivered(self, confirmed: Callable[[], None], lost: Callable[[], None]) -> None:
        """Hear whether the answer reached the client: exactly one of the two is called later, from any thread.

        Confirmed by a later request of that client or an orderly end; lost by a broken connection. Where there is no
        connection to break, it is confirmed at once.
        """
        confirmed()

    def tell(self, name: str, value: str) -> None:
        """Say something about the answer that its transport may show beside it: over HTTP, a header."""

    def waiting(self) -> AbstractContextManager[None]:
        """Returns a context for a wait that may be long, for a lock or a remote: others may work meanwhile."""
        from contextlib import nullcontext  # only those who wait need it

        return nullcontext()

    def check(self) -> None:
        """Stop here if the caller gave up: long loops call this."""
        if self.cancelled:
            raise Cancelled("The call was cancelled")

    async def ask(self, questions: Mapping[str, Question]) -> Mapping[str, object]:
        """Ask the client and wait for its answers, by the same keys."""
        raise Failure("This client cannot be asked", advice="Give the answer as an argument")


def _spell(principal: str, longest: int = 0) -> str:
    """Returns a principal as it is written; one that is too long or has odd characters as far as it goes, with a hash.

    Odd is what a commit's author cannot hold, what would end the principal before a claimed name, and what looks as if
    it had a hash: otherwise two principals could be written alike.
    """
    plain = "".join(char for char in principal if char.isprintable() and char not in _ODD).strip()
    if plain == principal and not (longest and len(principal) > longest):
        return principal
    from hashlib import sha256  # few have such a name

    hashed = f"{_CUT}{sha256(principal.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return (plain[: longest - len(hashed)] if longest else plain) + hashed


def _shorten(principal: str, named: str, longest: int) -> str:
    """Returns the author where principal and name are too long: the name is cut first."""
    spelled = _spell(principal, longest)
    room = longest - len(spelled) - len(f" ({_CUT})")
    return f"{spelled} ({named[:room]}{_CUT})" if named and room > 0 else spelled


_CUT = "…"
_PIPED = 2_000
_ODD = "<>()" + _CUT
_current: ContextVar[Call | None] = ContextVar("postil_call", default=None)


def current() -> Call:
    """Returns the call in progress, or a silent one."""
    return _current.get() or Call()


def room_in_list(most: int) -> int:
    """Returns how many characters of a text a list shows: `most`, or more where they go to a file or a program."""
    doing = current()
    return max(most, _PIPED) if doing.person and not doing.columns else most


def enter(call: Call) -> None:
    """Make this the call in progress, for the rest of the present context."""
    _current.set(call)


class Holder(Protocol):
    """Who hears what a call holds."""

    def hold(self, size: int, grows: bool) -> None:
        """Hear that it is about to hold something."""
        ...

    def keep(self, name: object, value: object, size: int) -> None:
        """Take something of the disk that took long to make, for the case that the call begins again."""
        ...

    def recall(self, name: object) -> object | None:
        """Returns what was kept under a name, once."""
        ...


_holder: ContextVar[Holder | None] = ContextVar("postil_holder", default=None)


def hold(size: int, *, grows: bool = False) -> None:
    """Say that the call in progress is about to hold something large, or something that grows, who knows how far.

    Where many do, a call that reads waits for its turn, and begins again.
    """
    holder = _holder.get()
    if holder is not None:
        holder.hold(size, grows)


def keep(name: object, value: object, size: int) -> None:
    """Let something outlive that the call begins again: it took long, and lies on the disk with so many bytes."""
    holder = _holder.get()
    if holder is not None:
        holder.keep(name, value, size)


def recall(name: object) -> object | None:
    """Returns what was kept under a name before the call began again, once."""
    holder = _holder.get()
    return holder.recall(name) if holder is not None else None


def hold_by(holder: Holder) -> None:
    """Let somebody hear what the call holds, for the rest of the present context."""
    _holder.set(holder)
