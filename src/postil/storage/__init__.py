"""Where state is kept: SQLite by default, memory for tests, Redis for many replicas."""
