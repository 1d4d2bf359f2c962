"""Where the code of a comment is now."""
