"""Adding comments to sources: checked, anchored, and on disk before it is answered."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import innermost, problem_at, symbols, syntax_problems
from postil.comments.anchoring.marker import marker_for
from postil.comments.anchoring.read import Reading
from postil.comments.anchoring.update_markers import settle
from postil.comments.failures import SourceNotParsed
from postil.comments.model import AiMeta
from postil.comments.operations.answers import Added
from postil.comments.operations.validation import check_ai, check_author, check_text
from postil.comments.sidecar.format import new_id, now
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.template import new_params
from postil.comments.source_tree import Source
from postil.comments.storage.file_versions import OldTexts
from postil.comments.storage.group_commit import Addition


class Saying(Struct, frozen=True):
    """What is said, by whom, and of which lines."""

    line: int
    text: str
    author: str
    tag: str | None = None
    end: int = 0
    ai: AiMeta | None = None
    copy_of: str = ""
    """The comment it repeats."""


class Adding:
    """Puts comments into sidecars."""

    def __init__(self, reading: Reading, texts: OldTexts) -> None:
        self._reading, self._texts = reading, texts

    def add(self, path: str, said: Saying, *, by_text: bool = False) -> Added:
        """Add a comment on a line or a range of a file; `by_text` also where the code has a syntax error."""
        check_text(said.text)
        source = self._reading.source_with_line(path, said.line, said.end)
        language = language_of(source.path)
        problems = syntax_problems(source.text, language)
        problem = problem_at(problems, symbols(source.text, language), said.line) if problems else None
        if problem and not by_text:
            raise SourceNotParsed(
                source.path,
                f"{problem.message} at line {problem.span.start}",
                'Fix syntax errors before adding comments, or use comments_add with anchor: "text" to comment all the '
                "same",
            )
        added = self.add_on(source, said)
        if not problems:
            return added
        return replace(
            added, warning=f"The file has a syntax error: {problems[0].message} at line {problems[0].span.start}"
        )

    def add_on(self, source: Source, said: Saying) -> Added:
        """Add a comment to a version of a source at hand."""
        check_author(said.author)
        check_ai(said.ai or {})
        named = symbols(source.text, language_of(source.path))
        symbol = innermost(named, said.line)
        raw = _new_comment(said)
        if symbol and (params := new_params(said.text, symbol.path, symbol.kind)):
            raw["params"] = params
        addition = Addition(source.blob, raw, marker_for(source, named, said.line, said.end))
        marker = self._reading.store.add(
            source.path, addition, lambda sidecar: settle(sidecar, source, self._reading, self._texts)
        )
        self._texts.keep(source)
        held = f"the {symbol.phrase}" if symbol else f"line {said.line}"
        return Added(str(raw["id"]), marker, source.path, said.line, said.tag, held, said.end)


def _new_comment(said: Saying) -> JsonObject:
    made = now()
    raw: JsonObject = {
        "id": new_id("c_"),
        "line": said.line,
        "text": said.text,
        "author": said.author,
        "created": made,
        "updated": made,
        "startLine": said.line,
    }
    if said.end:
        raw["endLine"] = said.end
    raw |= {"ghostMarkerId": "", "tag": said.tag, "status": "open"}
    if said.copy_of:
        raw["x-copy-of"] = said.copy_of
    if said.ai is not None:
        raw["aiMeta"] = {"enrichedAt": made, **said.ai}
    return raw
