"""A cache of every comment in its place, and how it is kept up to date."""
