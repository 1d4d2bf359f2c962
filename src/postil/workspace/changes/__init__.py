"""What changed: two versions of the tree compared by git, as files, hunks and lines."""
