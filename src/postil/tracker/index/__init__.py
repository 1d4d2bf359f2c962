"""A SQLite cache of what the logs say."""
