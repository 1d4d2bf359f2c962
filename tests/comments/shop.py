"""A small shop, and comments on its code: what tests of following are made on."""

from __future__ import annotations

from tests.comments.workspaces import Comments

CODE = '''"""Prices and taxes."""

RATE = 0.19


def net(price):
    """Without tax."""
    return price / (1 + RATE)


def gross(price):
    """With tax."""
    taxed = price * (1 + RATE)
    return round(taxed, 2)


class Basket:
    def __init__(self):
        self.items = []

    def add(self, item, count=1):
        for _ in range(count):
            self.items.append(item)

    def total(self):
        return sum(gross(item.price) for item in self.items)
'''


def line_of(text: str, code: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if code in line)


BITS = """class Style:
    def codes(self):
        if self.set:
            if self.color:
                for bit in range(4, 9):
                    append(bit)
        return codes
"""
"""Nested code, of which a part is rewritten."""


def add_at(comments: Comments, code: str, text: str = "look here") -> str:
    return comments.add("shop.py", line_of(CODE, code), text, "NOTE").commentId
