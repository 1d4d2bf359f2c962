"""Reviewing changes: where a line of a diff stands, and how GitLab wants to be told."""
