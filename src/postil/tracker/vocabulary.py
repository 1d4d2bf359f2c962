"""The fixed words of the tracker: statuses, kinds, types of links. Imports nothing, so that quick paths may use it."""

STATUSES = ("draft", "open", "closed")
KINDS = ("issue", "milestone")
LINK_TYPES = ("blocks", "parent", "related", "duplicate", "discovered-from")
ACYCLIC_LINKS = ("blocks", "parent")
