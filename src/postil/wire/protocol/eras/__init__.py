"""The protocol revisions: the handshake eras and the stateless era."""
