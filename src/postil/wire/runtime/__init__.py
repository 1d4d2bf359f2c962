"""What runs a connection: tasks, threads, the order of writes, watches of resources."""
