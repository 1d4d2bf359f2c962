"""The board: issues as cards in columns, on a terminal."""
