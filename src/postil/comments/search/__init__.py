"""Searching the texts of comments."""
