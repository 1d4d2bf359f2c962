"""Postil: one server through which people and assistants talk about the code in a git workspace."""

__version__ = "0.1.0"
