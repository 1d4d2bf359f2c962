"""The state database in PostgreSQL."""
