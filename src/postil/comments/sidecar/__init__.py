"""One sidecar file: bytes to model and back. Pure; the clock and new ids are passed in."""
