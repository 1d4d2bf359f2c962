"""The result of a call: a dictionary that also answers to `.result` and to its keys as attributes."""

from __future__ import annotations

from typing import Any


class Result(dict[str, Any]):
    """A result object. `result.id` is `result["id"]`, and `result.result` is the result itself."""

    @property
    def result(self) -> Result:
        """The result, for code written against the envelope."""
        return self

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None
