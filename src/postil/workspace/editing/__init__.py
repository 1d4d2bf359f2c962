"""Texts that people type in an editor of theirs."""
