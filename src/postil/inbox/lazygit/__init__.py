"""lazygit: the binding that setup writes, the menu of places, the screen it is read from, and what the doctor finds."""
