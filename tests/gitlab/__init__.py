"""Tests of the GitLab part, against the emulator behind a real socket."""
