"""The first page: where the work is."""

from __future__ import annotations

from postil.surfaces.page.layout import PLACES, empty
from postil.surfaces.page.markup import tag
from postil.surfaces.page.router import Route, has_path
from postil.surfaces.page.visit import Moved, Shown, Visit


async def go(visit: Visit) -> Moved | Shown:
    """Lead to the first view that this person may see."""
    for place in PLACES:
        if has_path(place.address) and visit.offers(place.needs):
            return Moved(place.address)
    about = tag("p", "You are let in, but nothing of this server is offered to you. Ask the one who runs it.")
    return Shown("Nothing to see", empty("Nothing to see here yet", about))


ROUTES = (Route("GET", "/", go),)
