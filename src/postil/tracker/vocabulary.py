"""The fixed words of the tracker: statuses, kinds, types of links. Imports nothing, so that `fast_list` may use it."""

STATUSES = ("draft", "open", "closed")
KINDS = ("issue", "milestone")
IDENTITY = "identity"
LINK_TYPES = ("blocks", "parent", "related", "duplicate", "discovered-from")
PRIORITIES = ("critical", "high", "medium", "low")
NO_PRIORITY = len(PRIORITIES)
TYPES = ("bug", "feature", "task", "chore", "epic")
ADDRESS_FIELD = "external_ref"
"""The field that holds the address of the same issue elsewhere."""
AT = "at:"
"""Before such an address in the table of origins."""
LONGEST_TITLE = 1000
LONGEST_NAME = 200
ACYCLIC_LINKS = ("blocks", "parent")


def rank_priority(priority: str | None) -> int:
    """Returns the place of a priority in their order; none, or one of a later version, is the last."""
    return PRIORITIES.index(priority) if priority in PRIORITIES else NO_PRIORITY
