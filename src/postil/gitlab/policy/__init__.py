"""What may be read, written and shown beyond what GitLab itself allows."""
