"""What can be done with GitLab, one group of operations a file."""
