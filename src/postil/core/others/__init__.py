"""The words of others: shown on a terminal, and handed to a model."""
