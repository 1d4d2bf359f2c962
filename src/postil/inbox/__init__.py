"""Messages a person sends from lazygit."""
