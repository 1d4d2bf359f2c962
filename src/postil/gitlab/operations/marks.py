"""How the operations of this part are declared: all of them reach beyond the workspace.

The contract lets `cache` and `cache_ttl` stand beside any call; a write takes them and does nothing with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from postil.core import operation

CONTRACT = "contract"
"""The toolset of the twelve operations that the contract lists, and of `get_issue`, which it uses: always offered."""
F = TypeVar("F", bound=Callable[..., object])


def reads(name: str, **declared: Any) -> Callable[[F], F]:
    """Mark a method that asks GitLab."""
    return operation.reads(name, title=make_title(name), open_world=True, **declared)


def writes(name: str, **declared: Any) -> Callable[[F], F]:
    """Mark a method that changes something at GitLab."""
    return operation.writes(name, title=make_title(name), open_world=True, ignores=("cache", "cache_ttl"), **declared)


def destroys(name: str, **declared: Any) -> Callable[[F], F]:
    """Mark a method that overwrites something at GitLab, or cannot be taken back."""
    return operation.destroys(name, title=make_title(name), open_world=True, ignores=("cache", "cache_ttl"), **declared)


def make_title(name: str) -> str:
    """Return what people read for a name: `list_issues` is "List issues"."""
    return name.replace("_", " ").capitalize()
