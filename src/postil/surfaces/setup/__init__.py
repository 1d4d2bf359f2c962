"""Connecting assistants and editors: their files, their hooks, and whether it works."""
