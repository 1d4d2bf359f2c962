"""Frameworks for agents, each visiting the server from an environment of its own: `make frameworks`."""
