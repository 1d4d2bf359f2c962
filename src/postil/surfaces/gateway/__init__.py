"""The gateway: who is let in over HTTP, from where, how often, and what is remembered of it. One file an idea."""
