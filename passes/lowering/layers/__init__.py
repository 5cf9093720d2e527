"""Find repeated layers, lower one of them, and run it as a loop."""
