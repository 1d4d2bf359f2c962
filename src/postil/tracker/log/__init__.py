"""The append-only logs of events that git keeps."""
