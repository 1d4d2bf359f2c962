"""The tracker's commands: what people type and what they are shown."""
