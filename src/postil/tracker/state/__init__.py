"""From events to what readers see. Pure."""
