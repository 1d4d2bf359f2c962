"""Work that a hostile text could make endless, in processes that the kernel ends."""
