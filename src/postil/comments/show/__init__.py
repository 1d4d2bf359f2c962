"""Comments as people and CI read them: between the lines of code, since a revision, on changed lines."""
