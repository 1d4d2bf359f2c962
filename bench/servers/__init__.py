"""The echo tool, once on each server that is measured."""
