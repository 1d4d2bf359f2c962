"""The command line: from words to an operation, and from its answer to a terminal."""
