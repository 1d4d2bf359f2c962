"""The audit of what was changed over HTTP."""
