"""The operations of the workspace part: where we are, the tracked files, leftovers, checks."""
