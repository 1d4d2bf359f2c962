"""Odd frames in great number, over both transports: no death, and an answer to every frame whose id can be read."""
