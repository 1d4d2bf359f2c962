"""Side-by-side measurements: the same echo tool on Postil and on other servers, in one run. Prints ratios."""
