"""The vocabulary: operations, resources, prompts, failures, the call in progress. No I/O, no framework."""
