"""Reviews that assistants ask for, as the page shows them."""
