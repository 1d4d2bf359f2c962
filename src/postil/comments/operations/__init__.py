"""What can be done with comments, one group of operations a file."""
