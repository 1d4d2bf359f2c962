"""How frames travel: over stdin and stdout, and over HTTP."""
