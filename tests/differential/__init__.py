"""One program at every level: XLA, interpreter, each phase of nc, and the binary."""
