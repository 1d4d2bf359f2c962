"""The state database and the ephemeral store in Redis or Valkey."""
