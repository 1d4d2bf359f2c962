"""Issues and milestones kept inside git."""
