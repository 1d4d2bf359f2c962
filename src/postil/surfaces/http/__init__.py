"""Serving over HTTP: the process, the application and the names it answers to."""
