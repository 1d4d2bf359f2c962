"""Comments as documents, and documents read back."""
