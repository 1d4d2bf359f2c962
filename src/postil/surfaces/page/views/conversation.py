"""A message with its answers, as the inbox and the changes show it. What the inbox answers, as the page reads it."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

from postil.core.call import LOCAL
from postil.surfaces.page.layout import later, when
from postil.surfaces.page.markup import Html, tag
from postil.surfaces.page.visit import Visit

CLOSED = ("addressed", "declined", "dismissed")
STATES = {
    "draft": "draft: not sent yet",
    "queued": "queued: no assistant has it yet",
    "leased": "being read by an assistant",
    "seen": "read by an assistant",
    "addressed": "addressed",
    "declined": "declined",
    "dismissed": "dismissed",
}


class Reply(Struct, frozen=True):
    """What somebody said."""

    author: str
    text: str
    time: str


class Anchor(Struct, frozen=True):
    """Where the lines are now."""

    state: str
    line: str = ""


class Message(Struct, frozen=True):
    """One message, as `inbox_find` and `inbox_show` answer it."""

    id: int
    state: str
    file: str
    comment: str
    time: str
    kind: str = "fix"
    line: str = ""
    anchor: Anchor | None = None
    attempt: int = 0
    side: str = "new"
    commit: str = ""
    code: str = ""
    hunk: str = ""
    suggestion: str | None = None
    review: int = 0
    summary: str = ""
    edited: bool = False
    replies: tuple[Reply, ...] = ()
    earlier_replies: int = 0
    source: str = ""
    author: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether it is settled."""
        return self.state in CLOSED


class Messages(Struct, frozen=True):
    """What `inbox_find` answers."""

    messages: tuple[Message, ...]
    more: int = 0
    drafts: int = 0
    note: str = ""


def show_thread(visit: Visit, message: Message, *, full: bool = False) -> Html:
    """Returns a message with its answers and what may be done with it."""
    number = message.id
    return tag(
        "article",
        tag(
            "header",
            tag("a", f"#{number}", href=f"/inbox/{number}", class_="number"),
            tag("span", message.state, class_=f"state {message.state}", title=STATES.get(message.state, "")),
            tag("span", message.kind, class_="kind") if message.kind != "fix" else None,
            tag("b", message.author) if message.author else None,
            _where(message) if full else None,
            _drift(message),
            tag("span", f"review {message.review}", class_="quiet") if message.review else None,
            tag("span", "edited", class_="quiet") if message.edited else None,
            tag("span", f"read {message.attempt} times", class_="quiet") if message.attempt > 1 else None,
            when(message.time),
        ),
        tag("p", message.summary, class_="said summary") if message.summary else None,
        tag("p", message.comment, class_="said"),
        _suggestion(message),
        _code(message) if full else None,
        tag(
            "p",
            f"{message.earlier_replies} earlier answers: ",
            tag("a", "all", href=f"/inbox/{number}"),
            class_="quiet",
        )
        if message.earlier_replies
        else None,
        tag("ol", [_reply(one) for one in message.replies], class_="replies") if message.replies else None,
        _since(message),
        _acts(visit, message),
        class_=f"thread {'closed' if message.is_closed else 'open'}",
        id=f"m{number}",
        data_stop="thread",
        tabindex="-1",
    )


def _where(message: Message) -> Html:
    place = message.file or message.source or (f"commit {message.commit[:12]}" if message.commit else "the repository")
    place += f":{message.line}" if message.line else ""
    if not message.file:
        return tag("span", place, class_="place")
    scope = f"?scope={quote(message.commit)}" if message.commit else ""
    side = "L" if message.side == "old" else "R"
    last = message.line.rpartition("-")[2]
    target = f"#{quote(message.file)}:{f'{side}{last}' if last else ''}"
    return tag("a", place, href=f"/changes{scope}{target}", class_="place")


def _drift(message: Message) -> Html | None:
    anchor = message.anchor
    if anchor is None or anchor.state in ("exact", "unknown"):
        return None
    words = {
        "moved": f"moved to {anchor.line}",
        "drifted": f"changed, now about {anchor.line}",
        "gone": "the lines are gone",
    }
    return tag("span", words.get(anchor.state, anchor.state), class_=f"anchor {anchor.state}")


def _suggestion(message: Message) -> Html | None:
    if message.suggestion is None:
        return None
    rows = [tag("del", f"- {line}\n") for line in message.code.split("\n")]
    rows += [tag("ins", f"+ {line}\n") for line in message.suggestion.split("\n")] if message.suggestion else []
    return tag("figure", tag("figcaption", "Suggested"), tag("pre", rows), class_="suggestion")


def _code(message: Message) -> Html | None:
    text = message.hunk or message.code
    return tag("pre", text, class_="code", tabindex="0", aria_label="The code it is about") if text else None


def _reply(reply: Reply) -> Html:
    who = tag("b", reply.author)
    return tag("li", tag("header", who, when(reply.time)), tag("p", reply.text, class_="said"))


def _since(message: Message) -> Html | None:
    """Returns the link to what changed in its lines since it was sent."""
    if not message.line or message.state == "draft":
        return None
    return tag("details", tag("summary", "Since my remark"), later(f"/inbox/{message.id}/since", "Show it"),
               class_="since", data_opens=True)  # fmt: skip


def _acts(visit: Visit, message: Message) -> Html | None:
    number = message.id
    acts: list[Html] = []
    if message.state == "draft" and visit.offers("inbox_edit"):
        form = tag("form", visit.form_token(), tag("label", tag("span", "Change the words"),
                   tag("textarea", "\n" + message.comment, name="comment", rows=3, required=True)),
                   tag("button", "Keep", class_="primary"), method="post", action=f"/inbox/{number}/edit")  # fmt: skip
        acts.append(tag("details", tag("summary", "Edit"), form, class_="act"))
    elif message.state != "draft" and visit.offers("inbox_reply"):
        form = tag("form", visit.form_token(), tag("label", tag("span", "Your answer"),
                   tag("textarea", name="text", rows=3, required=True)),
                   tag("button", "Reply", class_="primary"), method="post", action=f"/inbox/{number}/reply",
                   id=f"reply{number}")  # fmt: skip
        acts.append(tag("details", tag("summary", "Reply", data_key="r"), form, class_="act"))
    if message.is_closed and visit.offers("inbox_reopen"):
        acts.append(_button(visit, f"/inbox/{number}/reopen", "Reopen", "e"))
    elif not message.is_closed and message.state != "draft" and visit.offers("inbox_resolve"):
        acts.append(_button(visit, f"/inbox/{number}/resolve", "Resolve", "e"))
    caller = visit.visitor.caller
    is_ours = caller.principal == LOCAL or caller.signed(message.author)
    if message.state in ("draft", "queued", "leased") and is_ours and visit.offers("inbox_withdraw"):
        acts.append(
            _button(visit, f"/inbox/{number}/withdraw", "Discard" if message.state == "draft" else "Withdraw", "w")
        )
    return tag("div", acts, class_="acts") if acts else None


def _button(visit: Visit, action: str, words: str, key: str) -> Html:
    return tag("form", visit.form_token(), tag("button", words, data_key=key), method="post", action=action)
