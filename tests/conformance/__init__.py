"""The official conformance suite, run against a fixture of ours."""
