"""One module a view: what it reads by operations, and how that looks."""
