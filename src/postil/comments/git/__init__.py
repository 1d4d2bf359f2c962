"""Comments and the history of their repository."""
