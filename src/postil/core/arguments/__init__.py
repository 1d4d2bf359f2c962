"""The arguments of operations: the schemas that are published of them, and how models send them."""
