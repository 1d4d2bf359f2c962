"""Writing where markers are now into a sidecar that is being changed anyway."""

from __future__ import annotations

from typing import cast

from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import Symbol, symbols
from postil.comments.anchoring.marker import renewed
from postil.comments.anchoring.read import Reading
from postil.comments.sidecar.dialects import AnyMarker
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.source_tree import Source
from postil.comments.storage.file_versions import OldTexts


def settle(sidecar: Sidecar, source: Source | None, reading: Reading, texts: OldTexts) -> None:
    """Renew the markers whose place is sure; those that are uncertain or lost stay as they are."""
    if source is None or all(_made_on(each, source.blob) for each in sidecar.raw_markers):
        return
    named: list[Symbol] | None = None
    for marker, place in reading.places(sidecar, source):
        if place.state in ("moved", "modified") and place.path == sidecar.path:
            named = named if named is not None else symbols(source.text, language_of(source.path))
            sidecar.change_marker(marker.id, renewed(marker, place, source, named))
    if named is not None:
        texts.keep(source)


def _made_on(marker: AnyMarker, blob: str) -> bool:
    """Whether a marker was made on a version: then it is where it is."""
    own: object = marker.own
    if not isinstance(own, dict):
        return False
    values = cast(JsonObject, own)
    return values.get("blob") == blob and values.get("line") == marker.line
