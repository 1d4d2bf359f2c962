"""The fixed words of the tracker: statuses, kinds, types of links. Imports nothing, so that `fast_list` may use it."""

STATUSES = ("draft", "open", "closed")
KINDS = ("issue", "milestone")
IDENTITY = "identity"
LINK_TYPES = ("blocks", "parent", "related", "duplicate", "discovered-from")
LONGEST_TITLE = 1000
LONGEST_NAME = 200
ACYCLIC_LINKS = ("blocks", "parent")
