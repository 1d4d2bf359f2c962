"""What surrounds the effect of a write: records in its transaction, and notes before and after it."""
