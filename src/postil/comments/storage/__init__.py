"""Sidecars and versions of sources on disk."""
