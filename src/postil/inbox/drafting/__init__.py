"""Reviews: what a suggestion changes, the export, the person's editor."""
