"""What assistants can do with issues, one group of operations a file."""
