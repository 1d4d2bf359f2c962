"""Reviews that an assistant asks for: what it asks, how that is kept, what it gets."""
