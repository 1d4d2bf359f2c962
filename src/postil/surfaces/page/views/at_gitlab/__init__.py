"""A merge request of GitLab among the changes: its files and its discussions."""
