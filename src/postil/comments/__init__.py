"""Comments paired with source files, anchored to code."""
