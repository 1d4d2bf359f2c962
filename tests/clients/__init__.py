"""Official clients, each on a visit to the fixture of the conformance suite, over both transports and in both eras."""
