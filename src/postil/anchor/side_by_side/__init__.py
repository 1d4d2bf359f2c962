"""Two versions of a file laid side by side: which lines, and which words, are the same."""
