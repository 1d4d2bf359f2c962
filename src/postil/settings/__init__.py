"""What the user decided: read once at the edge, handed down as one frozen struct."""
