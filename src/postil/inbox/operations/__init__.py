"""What the inbox can do, in groups: for people, for assistants, for lazygit and hooks, and what can be watched."""
