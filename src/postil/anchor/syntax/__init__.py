"""Languages, their grammars, and the named things of a text."""
