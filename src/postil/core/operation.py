"""An operation: a typed method of a part, marked with its effect. Everything Postil can do is one.

The mark is data on the function. What it means to a client (a tool, a method, a command) is the surfaces' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_type_hints

import msgspec
from msgspec import Struct

from postil.core.failure import Failure, InternalError, InvalidArguments

Effect: TypeAlias = Literal["reads", "writes", "destroys"]
TaskSupport: TypeAlias = Literal["", "optional", "required", "after_questions"]
"""Whether a call becomes a task: where the client knows of tasks, always, or once its questions are answered."""
LONGEST_NAME = 100
"""Characters of a name that is not known in which is looked for what was meant."""
LONGEST_CHOICE = 256
"""Characters that are read of a text that is given for a choice."""
LONGEST_SENTENCE = 1000
"""Characters of what is told of wrong arguments."""
EVERYTHING = "*"
F = TypeVar("F", bound=Callable[..., object])


class Spelling(Struct, frozen=True):
    """Another command for an operation."""

    words: str
    settles: Mapping[str, object] = {}
    """Arguments that the words settle: the command does not ask for them."""
    says: str = ""
    """What help says of these words, where the operation's description does not fit."""
    positional: tuple[str, ...] | None = None
    """Arguments without a flag, where they are others than the operation's own."""
    flags: Mapping[str, str] | None = None
    """Short flags, where they are others than the operation's own."""
    requires: tuple[str, ...] = ()
    """Arguments that this command must be given though others may leave them out: `git mile create KIND TITLE`."""
    name: str = ""
    """The operation's name in these words (`postil call`), where it is not the words themselves."""
    aliases: tuple[str, ...] = ()
    """Older names of the operation in these words."""
    older: Mapping[str, str] | None = None
    """Older names of arguments, where they are others than the operation's own."""


class Mark(Struct, frozen=True):
    """What is declared on an operation."""

    name: str
    effect: Effect
    title: str = ""
    shell: str = ""
    """The words of the shell command; empty when people have no use for it there."""
    says: str = ""
    """What help says of the command, where the description is a contract's and does not fit."""
    requires: tuple[str, ...] = ()
    """Arguments that must be given though the method has a default for them, because another command settles them."""
    positional: tuple[str, ...] = ()
    """Arguments the shell takes without a flag, in order."""
    flags: Mapping[str, str] = {}
    """Short flags of the shell: argument name to letter."""
    spellings: tuple[Spelling, ...] = ()
    """Other commands for it."""
    aliases: tuple[str, ...] = ()
    """Older names under which it is still answered; they are not listed."""
    older: Mapping[str, str] = {}
    """Older names of arguments, which are still taken and not listed, and what they are called now."""
    shell_only: tuple[str, ...] = ()
    """Arguments that only the shell has: not published to clients, and refused from them."""
    tool_only: tuple[str, ...] = ()
    """Arguments that the shell has no flag for."""
    writes_with: tuple[str, ...] = ()
    """Arguments of the shell with which an operation that reads also writes: refused where only reading is allowed."""
    contract: type[Struct] | None = None
    """The arguments that an old contract publishes: on that contract's face these, and no others, are taken."""
    toolset: str = ""
    """The set of tools it belongs to. `extra` is offered to assistants only where the settings say so."""
    tool: bool = True
    """Whether assistants see it; a command of the shell alone says False."""
    direct: bool = False
    """Whether it may be called as a JSON-RPC method although it is no tool: a command of the shell alone may not."""
    ignores: tuple[str, ...] = ()
    """Arguments that are taken and mean nothing here: a contract lets them stand beside any call."""
    thing: str = ""
    """The argument that names what a call is about: calls about other things need not wait for it. `EVERYTHING` for an
    operation that works on several parts at once."""
    clears: tuple[str, ...] = ()
    """Optional arguments for which an empty text means something: elsewhere it means that nothing was given."""
    closed: bool = False
    """Whether the published schema says that no other arguments are taken."""
    fault: type[Failure] = InvalidArguments
    """The failure that answers arguments which cannot be decoded."""
    crash: type[Failure] = InternalError
    """The failure that answers a bug in this operation."""
    open_world: bool = False
    """Whether it reaches beyond this workspace."""
    idempotent: bool = False
    """Of a write: whether the same call again changes nothing more. What destroys always is."""
    waits: bool = False
    """Whether it only waits for what others do: at the end of a connection it is given up, while work is finished."""
    task: TaskSupport = ""
    """Whether a call may take long, and becomes a task for clients that know of them: `required` where they must."""


def reads(name: str, **declared: Any) -> Callable[[F], F]:
    """Mark a method as an operation that changes nothing."""
    return attach(Mark(name, "reads", **declared))


def writes(name: str, **declared: Any) -> Callable[[F], F]:
    """Mark a method as an operation that adds or changes, and destroys nothing."""
    return attach(Mark(name, "writes", **declared))


def destroys(name: str, **declared: Any) -> Callable[[F], F]:
    """Mark a method as an operation after which something is gone."""
    return attach(Mark(name, "destroys", **declared))


def attach(mark: object) -> Callable[[F], F]:
    """Returns a decorator that puts a mark on a method, for `marks_of` to find."""

    def apply(function: F) -> F:
        function.__postil__ = mark  # type: ignore[attr-defined]
        return function

    return apply


def marks_of(group: type) -> Iterator[tuple[str, object]]:
    """Yields the marked methods of a group with their marks, in the order they are written."""
    seen: set[str] = set()
    for owner in group.__mro__[:-1]:
        for attribute, member in vars(owner).items():
            mark = getattr(member, "__postil__", None)
            if mark is not None and attribute not in seen:
                seen.add(attribute)
                yield attribute, mark


class Operation:
    """A marked method bound to its group, ready to be called with decoded JSON."""

    __slots__ = ("arguments", "by_contract", "is_async", "mark", "older", "requires", "result", "run")

    def __init__(
        self,
        run: Callable[..., Any],
        *,
        by_contract: bool = False,
        requires: tuple[str, ...] = (),
        older: Mapping[str, str] | None = None,
    ) -> None:
        self.mark: Mark = run.__postil__  # type: ignore[attr-defined]
        self.run = run
        self.requires = requires
        self.older = older or {}
        self.by_contract = by_contract
        self.is_async = is_async(run)
        self.arguments, self.result = signature_types(run)
        if by_contract and self.mark.contract is not None:
            self.arguments = self.mark.contract

    def decode(self, arguments: object, *, from_shell: bool = False, as_meant: bool = False) -> Mapping[str, Any]:
        """Returns the arguments, checked against the signature. Raises the mark's `fault`, which names the path.

        Only the shell may give arguments that the mark names as `shell_only`. What a model sends is read as it is
        plainly meant, and so is what a person gives as JSON (`as_meant`); a contract's own server takes nothing but
        what the contract says.
        """
        mark, is_lenient = self.mark, as_meant or not (from_shell or self.by_contract)
        if type(arguments) is dict or isinstance(arguments, Mapping):  # asking an abstract class takes its time
            given = cast("Mapping[str, object]", arguments)
            if mark.ignores:
                given = {name: value for name, value in given.items() if name not in mark.ignores}
            if is_lenient and not all(given.values()):
                given = self._without_blanks(given)
            for value in given.values():
                if type(value) is str and len(value) > LONGEST_CHOICE:
                    self._refuse_long_choices(given)
                    break
            if self.older:
                given = self._with_new_names(given)
            if mark.shell_only and not from_shell:
                self.refuse(given, mark.shell_only)
            if self.requires:
                self._demand(given)
            arguments = given
        try:
            decoded = msgspec.convert(arguments, self.arguments)
        except msgspec.ValidationError as fault:
            if not is_lenient or not isinstance(arguments, Mapping):
                raise self.fault(str(fault)) from None
            decoded = self._convert_as_meant(cast(Mapping[str, object], arguments))
        return msgspec.structs.asdict(decoded)

    def _refuse_long_choices(self, arguments: Mapping[str, object]) -> None:
        """Raises where a long text is given for a choice: msgspec would quote all of it, which takes time."""
        from postil.core.arguments.as_meant import is_choice  # only long texts pay for it

        for name, value in arguments.items():
            name = self.older.get(name, name)
            if type(value) is str and len(value) > LONGEST_CHOICE and is_choice(self.arguments, name):
                raise self.fault(f"Invalid enum value '{value[:LONGEST_CHOICE]}…' - at `$.{name}`")

    def _without_blanks(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Returns the arguments without those that may be left out and are null or empty text."""
        optional = {field.encode_name for field in msgspec.structs.fields(self.arguments) if not field.required}
        optional.difference_update(self.requires)
        clears = self.mark.clears
        return {
            name: value
            for name, value in arguments.items()
            if not (name in optional and (value is None or (value == "" and name not in clears)))
        }

    def _with_new_names(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """Returns the arguments under the names they have now; a new name that is given too comes first."""
        older = self.older
        if older.keys().isdisjoint(arguments):
            return arguments
        return {
            older[name] if name in older and older[name] not in arguments else name: value
            for name, value in arguments.items()
        }

    def _demand(self, arguments: Mapping[str, object]) -> None:
        for name in self.requires:
            if name not in arguments:
                raise self.fault(f"Object missing required field `{name}`")

    def _convert_as_meant(self, arguments: Mapping[str, object]) -> Struct:
        from postil.core.arguments.as_meant import read_as_meant  # only what does not fit pays for it

        try:
            return msgspec.convert(read_as_meant(arguments, self.arguments, self.mark.shell_only), self.arguments)
        except msgspec.ValidationError as fault:
            raise self.fault(str(fault)) from None

    def refuse(self, arguments: Mapping[str, object], names: Iterable[str]) -> None:
        """Raises the failure of an unknown argument when one of these names is given."""
        for name in names:
            if name in arguments:
                raise self.fault(f"Object contains unknown field `{name}`")

    def fault(self, sentence: str) -> Failure:
        """Returns the failure for arguments that cannot be decoded, from msgspec's own sentence."""
        if len(sentence) > LONGEST_SENTENCE:  # it quotes what was given, with the path behind it
            sentence = f"{sentence[: LONGEST_SENTENCE // 2]}…{sentence[-LONGEST_SENTENCE // 2 :]}"
        reason, _, where = sentence.partition(" - at `$")
        path = where.rstrip("`").lstrip(".")
        quoted = reason.split("`")
        if not path and "field" in reason and len(quoted) > 1:  # a missing or unknown field is its own path
            path = quoted[1][:LONGEST_NAME]
        advice = self._advice(quoted[1]) if "unknown field" in reason and not where else ""
        if reason.startswith("Invalid enum value") and not self.by_contract:
            from postil.core.arguments.as_meant import values_at

            advice = f"Use one of {', '.join(values_at(self.arguments, path))}"
        elif reason.startswith("Expected `") and not self.by_contract:
            from postil.core.arguments.as_meant import meaning_at, say_in_json

            reason, advice = say_in_json(reason), meaning_at(self.arguments, path)
        elif reason.startswith("Object missing") and path and not self.by_contract:
            from postil.core.arguments.as_meant import values_at

            values = values_at(self.arguments, path)
            advice = f"Use one of {', '.join(values)}" if values else ""
        return self.mark.fault(
            f"Invalid arguments: {reason}" + (f" at {path}" if where else ""), advice=advice, path=path
        )

    def _advice(self, name: str) -> str:
        """Returns which argument was probably meant."""
        from postil.core.arguments.near_name import guess_name  # only a mistake pays for it

        known = [each for each in self.arguments.__struct_fields__ if each not in (*self.mark.shell_only, name)]
        meant = guess_name(name, known)
        return f"Did you mean `{meant}`?" if meant else f"Arguments are {', '.join(known) or 'none'}"


def signature_types(function: Callable[..., Any]) -> tuple[type[Struct], object]:
    """Returns the argument struct and the result type of a method, from its annotations."""
    hints = get_type_hints(function, include_extras=True)
    result = hints.pop("return", None)
    defaults = _defaults(function)
    fields: list[Any] = [
        (name, kind, defaults[name]) if name in defaults else (name, kind) for name, kind in hints.items()
    ]
    name = f"{getattr(function, '__name__', 'operation')}_arguments"
    return msgspec.defstruct(name, fields, kw_only=True, frozen=True, forbid_unknown_fields=True), result


def is_async(function: Callable[..., Any]) -> bool:
    """Returns whether this is an `async def`. By its code's flag: importing `inspect` would cost every start 5 ms."""
    return bool(function.__code__.co_flags & 0x80)


def _defaults(function: Callable[..., Any]) -> dict[str, object]:
    code = function.__code__
    positional = code.co_varnames[: code.co_argcount]
    given: tuple[object, ...] = function.__defaults__ or ()
    return {
        **dict(zip(positional[len(positional) - len(given) :], given, strict=True)),
        **(function.__kwdefaults__ or {}),
    }


def description_of(function: object) -> str:
    """Returns the first paragraph of the docstring, on one line: what models and `--help` read."""
    text = function.__doc__ or ""
    return " ".join(text.split("\n\n", 1)[0].split())
