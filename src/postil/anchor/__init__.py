"""Where a piece of code is now: pure functions over two texts. No I/O, knows no part."""
