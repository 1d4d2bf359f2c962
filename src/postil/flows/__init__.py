"""Stories that need two parts: a message becomes a comment, a comment an issue. Owns no data."""
