"""Issues that come from other programs."""
